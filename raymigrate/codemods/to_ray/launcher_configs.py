"""RM766 in scripts that train nothing, and write the file with which accelerate launches others."""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.launcher_settings import CLASSES
from raymigrate.codemods.phases import Phase


@codemod("ClusterConfig", "SageMakerConfig", phase=Phase.CALLS, option="to_ray")
def launcher_configs(context: Context) -> None:
    """Has such a script looked at: it belongs to what goes to Ray, and stays as it is."""
    if not context.takes_current_libraries and any(context.module.calls(*CLASSES)):
        context.stays = True
