"""Counts what Autobahn|Testsuite found, names what failed, and ends with 1 if anything did."""
import json
import sys

GOOD = ("OK", "INFORMATIONAL", "NON-STRICT")

with open(sys.argv[1]) as index:
    cases = json.load(index)["folkmoot"]
counts = {}
failed = []
for name, case in cases.items():
    counts[case["behavior"]] = counts.get(case["behavior"], 0) + 1
    if case["behavior"] not in GOOD or case["behaviorClose"] not in GOOD:
        failed.append("%s: %s, close: %s" % (name, case["behavior"], case["behaviorClose"]))
print("Autobahn|Testsuite: %d cases: %s" % (len(cases), ", ".join("%d %s" % (n, b) for b, n in sorted(counts.items()))))
for line in sorted(failed):
    print("  " + line)
sys.exit(1 if failed or not cases else 0)
