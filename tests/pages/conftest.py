"""The fixtures of the tests of pages."""

from browser import make_browser, make_open_page  # noqa: F401
