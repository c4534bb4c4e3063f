"""RM857: what every process of a converted loop would write, and what it would read before it is written."""

from textwrap import indent

import pytest

from tests.rules.test_to_accelerate import HEAD as NATIVE
from tests.rules.test_to_accelerate import LOOP, accelerated

EVERY = "Every process of a distributed run writes this file."
REMOVED = "Every process of a distributed run removes or moves this"
EARLY = "A process that comes here first reads a file that the main one has not written yet."
WAIT = "accelerator.wait_for_everyone()\n"
IMPORTS = (
    "import json\nfrom pathlib import Path\nimport numpy as np\nimport pandas as pd\n"
    "from transformers import AutoTokenizer\n"
)
FRAME = "frame = pd.DataFrame({'a': [1]})\n"


def is_said(what: str, messages: list[str]) -> bool:
    return any(message.startswith(what) for message in messages)


GUARD = "if accelerator.is_main_process:\n"


def guarded(block: str) -> str:
    return GUARD + indent(block, "    ")


@pytest.mark.parametrize(
    "write",
    [
        "Path('a.json').write_text(json.dumps({}))\n",
        "(Path('out') / 'a.bin').write_bytes(b'')\n",
        "frame.to_pickle('a.pkl')\n",
        "frame.to_csv(path_or_buf='a.csv')\n",
        "np.savetxt('a.txt', frame)\n",
        "pd.DataFrame({'loss': [loss.item()]}).to_csv('a.csv', index=False)\n",
        "json.dump({'loss': loss.item()}, open('a.json', 'w'))\n",
        "with open('a.json', 'w') as f:\n    json.dump({'loss': loss.item()}, f)\n",
        "with Path('a.txt').open('a') as f:\n    for k, v in {}.items():\n        f.write(f'{k} {v:.2f}\\n')\n",
    ],
)
def test_plain_values_are_written_by_the_main_process(write: str) -> None:
    outcome = accelerated(IMPORTS, FRAME, LOOP, write)
    assert guarded(write) in outcome.text
    assert not is_said(EVERY, outcome.messages)


def test_files_that_follow_each_other_are_written_together() -> None:
    writes = "frame.to_csv('a.csv')\nwith open('b.txt', 'w') as f:\n    f.write('done')\n"
    assert guarded(writes) in accelerated(IMPORTS, FRAME, LOOP, writes).text


def test_no_other_process_reads_a_file_or_a_name_that_the_main_one_has() -> None:
    twice = "with open('a.txt', 'w') as f:\n    f.write('a')\nwith open('b.txt', 'w') as f:\n    f.write('b')\n"
    assert guarded(twice) in accelerated(IMPORTS, LOOP, twice).text
    log = "path = Path('out') / 'a.txt'\nwith path.open('w') as f:\n    f.write('epoch')\n"
    more = "with path.open('a') as f:\n    f.write('1')\n"
    assert guarded(more) in accelerated(IMPORTS, log, LOOP, more).text
    assert is_said(EVERY, accelerated(IMPORTS, LOOP, twice, "print(f.closed)\n").messages)
    assert is_said(EVERY, accelerated(IMPORTS, LOOP, twice, "print(open('b.txt').read())\n").messages)


@pytest.mark.parametrize(
    "later",
    [
        "if os.path.exists('out/a.txt'):\n    print('there')\n",
        "print(file.stat().st_size)\n",
        "print(os.listdir('out'))\n",
        "print(os.listdir())\n",
        "print(glob.glob('out/*.txt'))\n",
        "print(glob.glob(os.path.join('out', '*.txt')))\n",
        "for found in Path('out').iterdir():\n    print(found)\n",
        "os.system('cat out/a.txt')\n",
        "command = f'python show.py --file={file}'\nsubprocess.run(command, shell=True)\n",
        "subprocess.run(['cat', 'out/a.txt'])\n",
        "rows = load_dataset('text', data_dir='out')\n",
        "words = AutoTokenizer.from_pretrained('out')\n",
    ],
)
def test_what_may_miss_a_file_that_is_not_there_yet_is_seen(later: str) -> None:
    imports = "import glob, os, subprocess\nfrom datasets import load_dataset\n"
    write = "file = Path('out/a.txt')\nfile.write_text('a')\n"
    outcome = accelerated(IMPORTS, imports, LOOP, write, later)
    assert is_said(EVERY, outcome.messages)
    assert GUARD not in outcome.text
    others = "os.makedirs('out', exist_ok=True)\nprint(f'written to {file}', os.listdir('data'))\n"
    assert guarded("file.write_text('a')\n") in accelerated(IMPORTS, imports, LOOP, write, others).text


@pytest.mark.parametrize(
    "rows", ["map(lambda x: model(x), [1])", "zip(test_loader, [1])", "iter(test_loader)", "csv.reader(open('b.csv'))"]
)
def test_what_is_gone_through_once_is_no_plain_value(rows: str) -> None:
    write = "with open('a.txt', 'w') as f:\n    for row in rows:\n        f.write(str(row))\n"
    outcome = accelerated(IMPORTS, "import csv\n", LOOP, f"rows = {rows}\n", write)
    assert is_said(EVERY, outcome.messages)
    assert GUARD not in outcome.text


ROWS = """

def rows():
    for x, y in loader:
        yield model(x)


"""


@pytest.mark.parametrize(
    "write",
    [
        "np.save('a.npy', model(x).detach().cpu().numpy())\n",
        "np.save('a.npy', next(iter(loader)))\n",
        "np.save('a.npy', np.random.rand(2))\n",
        "with open('a.txt', 'w') as f:\n    for row in found:\n        f.write(str(row))\n",
        "with open('a.txt', 'w') as f:\n    f.write(str(wanted(1)))\n    best = 1\nprint(best)\n",
        "with open('a.txt', 'w') as f:\n    model.best = 1\n",
        "for i in range(2):\n    with open('a.txt', 'w') as f:\n        if i:\n            break\n",
        "frame.to_csv('a.csv'); print('saved')\n",
    ],
)
def test_what_may_need_the_other_processes_is_told(write: str) -> None:
    found = "from job import wanted\nfound = rows()\n"
    outcome = accelerated(IMPORTS, FRAME, ROWS, found, LOOP, write)
    assert is_said(EVERY, outcome.messages)
    assert GUARD not in outcome.text


def test_who_writes_in_a_script_of_several_processes_is_its_own_doing() -> None:
    group = "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
    write = "Path(f'{dist.get_rank()}.json').write_text('{}')\n"
    for script in (write, "frame.to_csv('a.csv')\n", "if wanted(1):\n    frame.to_csv('a.csv')\n"):
        outcome = accelerated(IMPORTS, group, "from job import wanted\n", FRAME, LOOP, script)
        assert GUARD not in outcome.text


@pytest.mark.parametrize("text", ["text = frame.to_csv()\n", "text = frame.to_json(orient='records')\n"])
def test_a_table_without_a_path_gives_the_text(text: str) -> None:
    outcome = accelerated(IMPORTS, FRAME, LOOP, text)
    assert not is_said(EVERY, outcome.messages)
    assert GUARD not in outcome.text


def test_what_is_written_before_the_accelerator_is_there_is_left() -> None:
    early = "import json\njson.dump({}, open('a.json', 'w'))\n"
    text = accelerated(LOOP, head=early + NATIVE).text
    assert "accelerator.backward(loss)" in text
    assert GUARD not in text


@pytest.mark.parametrize(
    ("remove", "is_told"),
    [
        ("shutil.rmtree('best', ignore_errors=True)\n", True),
        ("if os.path.exists('a.pt'):\n    os.remove('a.pt')\n", True),
        ("os.replace('a.tmp', 'a.pt')\n", True),
        ("Path('a.pt').unlink(missing_ok=True)\n", True),
        ("os.system('rm -rf best')\n", True),
        ("folder = tempfile.mkdtemp()\nshutil.rmtree(folder)\n", False),
        ("os.system('nvidia-smi')\n", False),
        ("name = 'a.pt'.replace('.pt', '')\n", False),
    ],
)
def test_what_every_process_would_remove_is_told(remove: str, is_told: bool) -> None:
    imports = f"{IMPORTS}import os\nimport shutil\nimport tempfile\n"
    assert is_said(REMOVED, accelerated(imports, LOOP, remove).messages) is is_told
    assert is_said(REMOVED, accelerated(imports, LOOP, indent(remove, "    ")).messages) is is_told
    guarded = f"if dist.get_rank() == 0:\n{indent(remove, '    ')}"
    assert not is_said(REMOVED, accelerated(imports, "import torch.distributed as dist\n", LOOP, guarded).messages)


def test_what_is_saved_before_the_training_is_saved_once() -> None:
    early = "tokenizer = AutoTokenizer.from_pretrained('bert')\ntokenizer.save_pretrained('out')\n"
    text = accelerated(IMPORTS, "torch.save(len(loader), 'n.pt')\n", early, LOOP).text
    assert "accelerator.save(len(loader), 'n.pt')\n" in text
    assert "if accelerator.is_main_process:\n    tokenizer.save_pretrained('out')\n" in text


FOLD = f"""class Settings:
    folds = [0, 1]
    load = True


def run(fold):
    model = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{indent(LOOP, "    ")}    torch.save(model.state_dict(), f"{{fold}}.pt")
    return torch.load(f"{{fold}}.pt")


"""
HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from job import data, wanted

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(data, batch_size=8, shuffle=True)
"""


@pytest.mark.parametrize(
    ("test", "waits"),
    [
        ("fold in Settings.folds", True),
        ("Settings.load and not fold == 1", True),
        ("wanted(fold)", False),
        ("fold == loader.local_rank", False),
        ("fold in [int(x) for x in data]", False),
        ("chosen == fold", False),
        ("Settings.best", False),  # which each process sets by itself
    ],
)
def test_a_file_is_read_when_it_is_written(test: str, waits: bool) -> None:
    settings = "chosen = wanted(0)\nfor fold in range(2):\n    Settings.best = wanted(fold)\n"
    script = f"{settings}    if {test}:\n        run(fold)\n"
    outcome = accelerated(FOLD, script, head=HEAD)
    assert "accelerator.save(" in outcome.text
    assert (f'    {WAIT}    return torch.load(f"{{fold}}.pt")' in outcome.text) is waits
    assert is_said(EARLY, outcome.messages) is not waits


@pytest.mark.parametrize(("leave", "waits"), [("continue", True), ("return None", False)])
def test_processes_wait_behind_a_loop_that_each_ends_by_itself_but_not_behind_a_return(leave: str, waits: bool) -> None:
    loop = (
        f"def run(fold):\n    for name in data:\n        if wanted(name):\n            {leave}\n        print(name)\n"
    )
    outcome = accelerated(FOLD.replace("def run(fold):\n", loop), "run(1)\n", head=HEAD)
    assert "accelerator.save(" in outcome.text
    assert (f'    {WAIT}    return torch.load(f"{{fold}}.pt")' in outcome.text) is waits


RESUMES = """
if wanted(path):
    model.load_state_dict(torch.load(path))
"""


@pytest.mark.parametrize(
    ("loop", "told"),
    [
        (f"{RESUMES}{LOOP}torch.save(model.state_dict(), path)\n", False),
        (f"for fold in range(2):\n{indent(f'{RESUMES}{LOOP}torch.save(model.state_dict(), path)', '    ')}\n", True),
        (f"{LOOP}torch.save(model.state_dict(), path)\n{RESUMES}", True),
    ],
)
def test_a_file_from_before_is_there_already(loop: str, *, told: bool) -> None:
    outcome = accelerated("from job import wanted\n", "path = 'a.pt'\n", loop)
    assert "accelerator.save(" in outcome.text, outcome.messages
    assert is_said(EARLY, outcome.messages) is told


FUNCTIONS = """
def load(path):
    return AutoModel.from_pretrained(path)


def save(model, folder):
    model.save_pretrained(folder)


"""


@pytest.mark.parametrize(
    ("last", "waits"),
    [
        ("save(model, 'out')\nagain = load('out')\n", True),
        ("out = 'out'\nsave(model, out)\nagain = load('out')\n", True),
        ("save(model, 'out')\nagain = load('other')\n", False),
        ("save(model, 'out')\n", False),
    ],
)
def test_processes_wait_where_one_function_saves_what_another_one_loads(last: str, waits: bool) -> None:
    head = NATIVE.replace("device =", f"{FUNCTIONS}device =", 1)
    text = accelerated(LOOP, last, head=f"from transformers import AutoModel\n{head}").text
    assert "folder, is_main_process=accelerator.is_main_process)" in text
    assert ("    accelerator.wait_for_everyone()\n" in text) == waits


BEST = """if wanted(loss):
    model.save_pretrained('best')
    tokenizer.save_pretrained('best')
"""
AGAIN = "again = AutoModel.from_pretrained('best')\n"
LATER = "def load(found):\n    return AutoModel.from_pretrained('best')\n"
OPTIONS = "import argparse\noptions = argparse.ArgumentParser().parse_args()\n"
FOLDER = "A process that comes here first reads a folder that the main one has not written yet."


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (f"{BEST}print('done')\n{AGAIN}", f"accelerator.print('done')\n{WAIT}{AGAIN}"),
        (f"{BEST}words = AutoTokenizer.from_pretrained('best')\n{AGAIN}", f"{WAIT}words = AutoTokenizer"),
        (f"tokenizer.save_pretrained('best')\n{AGAIN}", f"    tokenizer.save_pretrained('best')\n{WAIT}{AGAIN}"),
        (f"model.save_pretrained('best')\nif wanted(1):\n    {AGAIN}", f"main_process)\n{WAIT}if wanted(1):"),
        (f"{BEST}if options.test:\n    {AGAIN}", f"if options.test:\n    {WAIT}    {AGAIN}"),
        (f"{BEST}again = PeftModel.from_pretrained(base(), 'best')\n", f"{WAIT}again = PeftModel"),
        (f"{BEST}again = pipeline('ner', tokenizer='best')\n", f"{WAIT}again = pipeline("),
        # It is not seen when these load.
        (
            "later = lambda: AutoModel.from_pretrained('best')\nmodel.save_pretrained('best')\n",
            f"main_process)\n{WAIT}",
        ),
        (f"{LATER}model.save_pretrained('best')\nlist(map(load, []))\n", f"main_process)\n{WAIT}"),
    ],
)
def test_what_the_main_process_saved_is_read_when_it_is_there(last: str, expected: str) -> None:
    imports = "from transformers import AutoModel, AutoTokenizer, pipeline\nfrom job import base, wanted\n"
    imports += "from peft import PeftModel\n"
    tokenizer = "tokenizer = AutoTokenizer.from_pretrained('bert')\n"
    outcome = accelerated(imports, OPTIONS, tokenizer, LOOP, last)
    assert expected in outcome.text
    assert outcome.text.count(WAIT) == 1
    assert not is_said(FOLDER, outcome.messages)


@pytest.mark.parametrize(
    ("last", "told"),
    [
        (f"{BEST}if wanted(1):\n    {AGAIN}", True),
        (
            f"for epoch in range(3):\n    if not wanted(epoch):\n        continue\n{indent(BEST, '    ')}    {AGAIN}",
            True,
        ),
        (f"match wanted(1):\n    case True:\n{indent(BEST, '        ')}        {AGAIN}", True),
        (f"{BEST}if dist.get_rank() == 0:\n    {AGAIN}", False),
        (f"{BEST}again = AutoModel.from_pretrained('other')\n", False),
        (
            f"if dist.get_rank() == 0:\n{indent(BEST, '    ')}{AGAIN}",
            False,
        ),  # who waits there is the script's own doing
    ],
)
def test_where_processes_cannot_wait_it_is_told(last: str, *, told: bool) -> None:
    imports = "import torch.distributed as dist\nfrom transformers import AutoModel, AutoTokenizer\n"
    tokenizer = "from job import wanted\ntokenizer = AutoTokenizer.from_pretrained('bert')\n"
    outcome = accelerated(imports, tokenizer, LOOP, last)
    assert "save_pretrained" in outcome.text
    assert WAIT not in outcome.text
    assert is_said(FOLDER, outcome.messages) is told
