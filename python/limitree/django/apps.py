"""The entry of INSTALLED_APPS."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks
from django.core.signals import setting_changed


class LimitreeConfig(AppConfig):
    """Registers the system checks, and follows changed settings in tests."""

    name = "limitree.django"
    label = "limitree"
    verbose_name = "limitree"

    def ready(self) -> None:
        from limitree.django import current
        from limitree.django.checks import check_limitree

        checks.register(check_limitree, "limitree")
        setting_changed.connect(current.forget_if_changed,
                                dispatch_uid="limitree.django")
