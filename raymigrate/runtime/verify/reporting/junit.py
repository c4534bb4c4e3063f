"""The report for continuous integration: JUnit XML, a suite for each comparison and a case for each gate.

An explained gate passes and says why in <system-out>. Where nothing was compared, a case with an <error> stands: an
empty suite would look like success.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from raymigrate.runtime.verify.reporting.wording import headline, name_of_the_other, outcome, printable, verdict
from raymigrate.runtime.verify.results import Cause, Comparison, Gate, Status, Verification


def junit_text(verification: Verification) -> str:
    """The report as JUnit XML."""
    root = ET.Element("testsuites", name="raymigrate verify", time=f"{verification.seconds:.3f}")
    for comparison in verification.comparisons:
        root.append(_suite(verification, comparison))
    if not verification.comparisons:
        suite = ET.SubElement(root, "testsuite", name="raymigrate verify", timestamp=verification.started)
        _nothing_compared(suite, "raymigrate.verify", headline(verification))
    for suite in root:
        _count(suite, [suite])
    _count(root, list(root))
    for element in root.iter():
        element.text = element.text and printable(element.text)
        element.attrib.update({key: printable(value) for key, value in element.attrib.items()})
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="utf-8"?>\n', "\n")
    )


def _suite(verification: Verification, comparison: Comparison) -> ET.Element:
    name = f"{comparison.left} against {comparison.right}: {comparison.claim}"
    suite = ET.Element("testsuite", name=name, timestamp=verification.started)
    properties = ET.SubElement(suite, "properties")
    for key, value in _facts(verification, comparison):
        ET.SubElement(properties, "property", name=key, value=value)
    place = f"raymigrate.verify.{comparison.left}-{comparison.right}"
    for gate in comparison.gates:
        suite.append(_case(gate, place, comparison.causes))
    if outcome(comparison) is Status.NOT_APPLICABLE:
        _nothing_compared(suite, place, verdict(comparison))
    ET.SubElement(suite, "system-out").text = "\n".join([verdict(comparison), *_causes(comparison.causes)])
    return suite


def _case(gate: Gate, place: str, causes: tuple[Cause, ...]) -> ET.Element:
    case = ET.Element("testcase", classname=place, name=f"{gate.name}: {gate.title}")
    lines = [f"{check.status.value}: {check.name}: {check.figures}" for check in gate.checks]
    if gate.status is Status.FAIL:
        failed = [check for check in gate.checks if check.status is Status.FAIL]
        message = "; ".join(f"{check.name}: {check.figures}" for check in failed)
        failure = ET.SubElement(case, "failure", message=message, type=gate.name)
        failure.text = "\n".join([*lines, *_causes(causes)])
    elif gate.status is Status.NOT_APPLICABLE:
        message = "; ".join(f"{check.name}: {check.figures}" for check in gate.checks)
        ET.SubElement(case, "skipped", message=message or "not applicable")
    else:
        explained = gate.status is Status.EXPLAINED
        text = "\n".join([*lines, *(_causes(causes) if explained else [])])
        ET.SubElement(case, "system-out").text = text
    return case


def _nothing_compared(suite: ET.Element, place: str, message: str) -> None:
    case = ET.SubElement(suite, "testcase", classname=place, name="comparison")
    ET.SubElement(case, "error", message=message, type="nothing compared")


def _facts(verification: Verification, comparison: Comparison) -> list[tuple[str, str]]:
    """What a reader of the suite needs to judge or repeat it."""
    facts = [("command", verification.command), ("original", str(verification.original))]
    if verification.converted is not None:
        facts.append((name_of_the_other(verification), str(verification.converted)))
    facts += [(f"pin {pin.name}", pin.value) for pin in verification.pins]
    facts += [(f"override {override.name}", override.value) for override in verification.overrides]
    for arm in verification.arms:
        if arm.letter in (comparison.left, comparison.right):
            facts += [(f"{arm.letter} {library}", version) for library, version in arm.versions.items()]
    return facts


def _causes(causes: tuple[Cause, ...]) -> list[str]:
    return [f"cause: {cause.name}: {cause.evidence} {cause.remedy}".rstrip() for cause in causes]


def _count(element: ET.Element, suites: list[ET.Element]) -> None:
    cases = [case for suite in suites for case in suite.iter("testcase")]
    element.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
