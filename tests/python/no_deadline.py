"""For tests that use hypothesis; conftest.py would load it for all others, too,
which takes a second of a processor."""

import hypothesis

# No deadline: on a busy machine, the time of an example means nothing.
hypothesis.settings.register_profile("limitree", deadline=None)
hypothesis.settings.load_profile("limitree")
