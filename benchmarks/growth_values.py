"""Values that are followed to where they were made, of which there can be many: Datasets of DataFrames."""

from benchmarks.growth_inputs import IMPORT, Case, script

FRAMES = f"""\
import ray
{IMPORT}

def odd(frame):
    frame["odd"] = frame["number"] % 2
    return frame


rows = ray.data.from_pandas(frames)
"""
MAPPED = 'rows.map_batches(odd, batch_format="pandas")\n'
NAMED = "r_<n> = rows.limit(<n>)\n" + MAPPED.replace("rows", "r_<n>") + "rows = r_<n>\n"
CASES = [
    Case("steps of a dataset that keep its DataFrames", 300, script("rows = rows.repartition(2)\n", FRAMES, MAPPED)),
    Case("datasets of DataFrames that are made of each other", 100, script(NAMED, FRAMES)),
]
