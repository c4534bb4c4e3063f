"""Images of containers that hold a version of Ray: `FROM rayproject/ray:2.6.3`, `image="quay.io/x/ray:2.6.3-py39"`."""

import re

from raymigrate.knowledge.versions import LOWEST, Pin

IMAGE = re.compile(
    r"(?:[\w.:-]+/)*(?:rayproject/ray(?:-ml|-llm)?|[\w.-]+/ray):(?P<version>\d+\.\d+(?:\.\d+)?)?(?P<rest>[\w.-]*)"
)
PYTHON = re.compile(r"(?:^|-)py3(?P<minor>\d+)\b")
ON_GPU = re.compile(r"-(?:gpu|cu\d+)\b")
ADVICE = "Take the image of ray >= {ray}, for example rayproject/ray:{ray}.0{rest}; its tag also names the Python."
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
    python = PYTHON.search(match["rest"])
    advice = ADVICE.format(ray=LOWEST["ray"], rest=_rest_today(match["rest"], python))
    advice += WITHOUT_LIBRARIES if "/ray-ml:" in image else ""
    if match["version"]:
        return Pin("ray", image, start, f"=={match['version']}", obstacle=advice)
    return Pin("python", image, start, f"==3.{python['minor']}.*", obstacle=advice) if python else None


def _rest_today(rest: str, python: re.Match[str] | None) -> str:
    """What comes after the version in the tag of an image of today: the Python, if Ray still has it, and the kind."""
    lowest = int(LOWEST["python"].partition(".")[2])
    minor = max(lowest, int(python["minor"])) if python is not None else lowest
    return f"-py3{minor}{'-gpu' if ON_GPU.search(rest) else ''}"
