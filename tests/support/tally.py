"""Adds up JUnit files and prints `N passed, N failed, N skipped`, naming what was skipped."""

import sys
import xml.etree.ElementTree as tree


def cases(files):
    for file in files:
        for case in tree.parse(file).getroot().iter("testcase"):
            yield case


def outcome(case):
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"} or case.get("status") == "fail":
        return "failed"
    if "skipped" in kinds or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def main(files):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in cases(files):
        what = outcome(case)
        counts[what] += 1
        if what != "passed":
            print(f"{what}: {case.get('classname', '')} {case.get('name')}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
