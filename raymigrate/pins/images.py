"""Images of containers that hold a version of Ray: `FROM rayproject/ray:2.6.3`, `image="quay.io/x/ray:2.6.3-py39"`.

And the version that KubeRay is told that they hold: `rayVersion: "2.6.3"`.
"""

import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.knowledge.versions import LOWEST, Pin

VERSION = r"\d+\.\d+(?:\.\d+)?"
IMAGE = lazy_regex(
    rf"(?:[\w.:-]+/)*(?:(?:rayproject/ray(?:-ml|-llm)?|[\w.-]+/ray):(?P<version>{VERSION})?"
    rf"|[\w.-]+:(?:[\w.]+-)*ray-?v?(?P<within>{VERSION})(?![\w.]))"  # one that holds Ray besides: "base:ray2.1.0-py38"
    r"(?P<rest>[\w.-]*)(?:@sha256:\w+)?"
)
PYTHON = lazy_regex(r"(?:^|-)py3(?P<minor>\d+)\b")
ON_GPU = lazy_regex(r"-(?:gpu|cu\d+)\b")
PYTHON_IMAGE = lazy_regex(r"(?:[\w.:-]+/)*python:(?:\d+-)?3\.(?P<minor>\d+)(?:\.\d+)?(?P<rest>[\w.-]*)(?:@sha256:\w+)?")
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
    version = match["version"] or match["within"]
    if version:
        return Pin("ray", image, start, f"=={version}", obstacle=advice)
    return Pin("python", image, start, f"==3.{python['minor']}.*", obstacle=advice) if python else None


def python_image_pin(image: str, start: int) -> Pin | None:
    """What the name of an image of Python alone says: `python:3.9-slim`. For the arguments see `image_pin`."""
    match = PYTHON_IMAGE.fullmatch(image)
    if match is None:
        return None
    advice = f"Take the image of Python >= {LOWEST['python']}, for example python:{LOWEST['python']}{match['rest']}."
    return Pin("python", image, start, f"==3.{match['minor']}.*", obstacle=advice)


def _rest_today(rest: str, python: re.Match[str] | None) -> str:
    """What comes after the version in the tag of an image of today: the Python, if Ray still has it, and the kind."""
    lowest = int(LOWEST["python"].partition(".")[2])
    minor = max(lowest, int(python["minor"])) if python is not None else lowest
    return f"-py3{minor}{'-gpu' if ON_GPU.search(rest) else ''}"


# The keys of YAML that name an image: `image:` of Kubernetes and of Ray's cluster launcher, its `head_image:`,
# Anyscale's `image_uri:`. Charts of Helm say it in two lines, `repository:` and `tag:`.
IN_YAML = lazy_regex(
    r"(?:^[ \t-]*|[{,][ \t]*)[\"']?(?:\w+_)?image(?:_uri)?[\"']?[ \t]*:[ \t]+[\"']?(?P<image>[^\s\"'#{},]+)"
    r"|^[ \t-]*repository[ \t]*:[ \t]+[\"']?(?P<repository>[^\s\"'#{},]+)[\"']?[ \t]*(?:#[^\n]*)?\r?\n"
    r"[ \t]*tag[ \t]*:[ \t]+[\"']?(?P<tag>[^\s\"'#{},]+)",
    re.MULTILINE,
)


def images_in_yaml(text: str) -> Iterator[Pin]:
    """What the images say that a YAML file names; comments name none."""
    for match in IN_YAML.finditer(text):
        image, place = match["image"], match.start("image")
        if image is None:
            image, place = f"{match['repository']}:{match['tag']}", match.start("repository")
        if pin := image_pin(image, place):
            yield pin


RAY_VERSION = lazy_regex(
    r"(?:^[ \t-]*|[{,][ \t]*)"
    rf"(?P<line>[\"']?rayVersion[\"']?[ \t]*:[ \t]+[\"']?(?P<version>{VERSION})[\"']?)(?![\w.])",
    re.MULTILINE,
)
OF_IMAGE = "Write the version that the image of ray >= {ray} holds."


def ray_versions(text: str) -> Iterator[Pin]:
    """The versions of Ray in the `rayVersion:` of clusters and jobs of KubeRay, which starts them by it."""
    for match in RAY_VERSION.finditer(text):
        advice = OF_IMAGE.format(ray=LOWEST["ray"])
        yield Pin("ray", match["line"], match.start("line"), f"=={match['version']}", obstacle=advice)
