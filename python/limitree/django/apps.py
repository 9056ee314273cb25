"""The entry of INSTALLED_APPS."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks


class LimitreeConfig(AppConfig):
    """Registers the system checks."""

    name = "limitree.django"
    label = "limitree"
    verbose_name = "limitree"

    def ready(self) -> None:
        from limitree.django.checks import check_limitree

        checks.register(check_limitree, "limitree")
