"""Images of containers that hold a version of Ray: `FROM rayproject/ray:2.6.3`, `image="quay.io/x/ray:2.6.3-py39"`."""

import re

from raymigrate.knowledge.versions import LOWEST, Pin

IMAGE = re.compile(
    r"(?:[\w.:-]+/)*(?:rayproject/ray(?:-ml|-llm)?|[\w.-]+/ray):(?P<version>\d+\.\d+(?:\.\d+)?)?(?P<rest>[\w.-]*)"
)
PYTHON = re.compile(r"(?:^|-)py3(?P<minor>\d+)\b")
ADVICE = "Take the image of ray >= {ray}, for example rayproject/ray:{ray}.0-py{python}; its tag also names the Python."
WITHOUT_LIBRARIES = " Unlike ray-ml it holds neither torch nor transformers: install them in it."


def image_pin(image: str, start: int = 0) -> Pin | None:
    """What the name of an image says of the Ray, or else of the Python, in it.

    Args:
        image: The name, with its tag.
        start: Where it starts in the text of the file.

    Returns:
        The pin, or None where the name says neither.
    """
    match = IMAGE.fullmatch(image)
    if match is None:
        return None
    advice = ADVICE.format(ray=LOWEST["ray"], python=LOWEST["python"].replace(".", ""))
    advice += WITHOUT_LIBRARIES if "/ray-ml:" in image else ""
    if match["version"]:
        return Pin("ray", image, start, f"=={match['version']}", obstacle=advice)
    python = PYTHON.search(match["rest"])
    return Pin("python", image, start, f"==3.{python['minor']}.*", obstacle=advice) if python else None
