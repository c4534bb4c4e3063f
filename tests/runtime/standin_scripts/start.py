"""What is loaded when a process starts that trains nothing."""

import json
import sys

HEAVY = ("ray", "torch", "transformers", "accelerate", "datasets", "pandas", "pyarrow", "numpy", "yaml", "raymigrate")

results = {"loaded": [name for name in HEAVY if name in sys.modules]}

print("\nRESULTS", json.dumps(results))
