"""The Decision: made in C++, with the methods that write text added here.

A subclass would say the same, but each decision would be made and freed more
slowly.
"""

from limitree._native import Decision, Level
from limitree.headers import headers, problem

setattr(Decision, "headers", headers)
setattr(Decision, "problem", problem)

__all__ = ["Decision", "Level"]
