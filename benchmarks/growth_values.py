"""Values that are followed to where they are made, of which there can be many: Datasets, objects that hydra makes."""

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
MADE = f"import hydra\n{IMPORT}"
FITTED = """\
def run_<n>(cfg):
    trainer = hydra.utils.instantiate(cfg)
    result = trainer.fit()
    print(result.log_dir, result.metrics["time_total_s"])


"""
TARGET = {"config.yaml": "trainer:\n  _target_: ray.train.huggingface.AccelerateTrainer\n"}
CASES = [
    Case("steps of a dataset that keep its DataFrames", 300, script("rows = rows.repartition(2)\n", FRAMES, MAPPED)),
    Case("datasets of DataFrames that are made of each other", 100, script(NAMED, FRAMES)),
    Case("objects that hydra makes", 100, lambda number: TARGET | script(FITTED, MADE)(number)),
]
