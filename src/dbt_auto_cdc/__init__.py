"""AUTO CDC for dbt: the version and the door through which dbt finds the plugin.

Nothing else lives here: dbt imports this module in every command of every project of the environment.
"""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Load the plugin only when dbt asks for it, and never let a failure break dbt for other projects."""
    if name == "plugins":
        try:
            from dbt_auto_cdc.plugin import AutoCdcPlugin
        except Exception:  # noqa: BLE001 - the macro `_python` tells the user, in the projects that need us
            return []
        return [AutoCdcPlugin]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
