"""The Decision: made in C++, with the method that makes a dict added here.

A subclass would do the same, but decisions would be made and freed more slowly.
"""

from limitree._native import Decision, Level
from limitree.headers import problem

setattr(Decision, "problem", problem)

__all__ = ["Decision", "Level"]
