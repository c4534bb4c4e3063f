"""RM523: DataFrames that NumPy splits."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import numpy as np\nimport pandas as pd\nimport ray\nfrom other import found, n, x\n\n"
READ = "pd.read_csv('x')"


@pytest.mark.parametrize(
    ("script", "now"),
    [
        (
            f"df = {READ}\np = np.array_split(df, n)",
            "[df.iloc[rows] for rows in np.array_split(np.arange(len(df)), n)]",
        ),
        (f"df = {READ}\np = np.split(df, [2, n])", "[df.iloc[rows] for rows in np.split(np.arange(len(df)), [2, n])]"),
        (f"df = {READ}\ndf = df.dropna()\np = np.array_split(ary=df, indices_or_sections=n)", "df.iloc[rows]"),
        (
            f"p = np.array_split({READ}, n, axis=0)",
            f"[frame.iloc[rows] for frame in [{READ}] for rows in np.array_split(np.arange(len(frame)), n)]",
        ),
        (
            f"df = {READ}\na, b = np.split(df.sample(frac=1), [int(0.8 * len(df))])",
            "a, b = [frame.iloc[rows] for frame in [df.sample(frac=1)] for rows in np.split(np.arange(len(frame)), "
            "[int(0.8 * len(df))])]",
        ),
        ("def f(rows: pd.DataFrame):\n    return np.array_split(rows, n)", "[rows.iloc[part] for part in"),
        ("p = np.array_split(ray.data.range(3).to_pandas()[['id']], n)", "frame.iloc[rows]"),
        ("df = pd.concat(x)\np = np.array_split(df.iloc[3:], n)", "for frame in [df.iloc[3:]]"),
        ("ds = ray.data.from_pandas(np.array_split(found, n))", "ray.data.from_pandas([found.iloc[rows] for rows"),
        (f"import numpy\np = numpy.array_split({READ}, n)", "numpy.arange(len(frame))"),
        (f"df = {READ}\np = np.array_split(df['text'], n)", "for frame in [df['text']]"),
        (f"df = {READ}\ncol = df['text'].dropna()\np = np.array_split(col[:9], n)", "for frame in [col[:9]]"),
        (f"df = {READ}\np = np.array_split(df.loc[df.split == x, 'text'], n)", "frame.iloc[rows]"),
        (f"df = {READ}\nmask = df.a.isin(x)\np = np.array_split(df[mask]['text'], n)", "frame.iloc[rows]"),
        (f"df = {READ}\ndf = df['text']\np = np.array_split(df, n)", "df.iloc[rows]"),
        (f"df = {READ}\np = np.array_split(df[x], n)", "frame.iloc[rows]"),
        ("def f(texts: pd.Series):\n    return np.array_split(texts[texts != ''], n)", "frame.iloc[rows]"),
        (f"df = {READ}\nclass C:\n    pieces = np.array_split(df, n)", "df.iloc[rows]"),
        (f"class C:\n    def f(self):\n        df = {READ}\n        return np.array_split(df, n)", "df.iloc[rows]"),
        (f"frame = rows = 0\np = np.array_split({READ}, n)", "whole.iloc[part] for whole in"),
    ],
)
def test_the_numbers_of_the_rows_are_split(script: str, now: str) -> None:
    outcome = converted(HEAD + script)
    assert outcome.lines("RM523", Kind.CONVERTED)
    assert now in outcome.text
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    ("script", "advice"),
    [
        (f"from numpy import array_split\np = array_split({READ}, n)", "df.iloc[rows] for rows in"),
        (f"p = np.array_split({READ}, n, axis=1)", "df.iloc[:, columns]"),
        (f"p = np.array_split({READ}, *x)", "df.iloc[rows]"),
        (f"class C:\n    df = {READ}\n    p = np.array_split(df, n)", "df.iloc[rows]"),
        (f"class C:\n    k = 3\n    p = np.array_split({READ}, k)", "outside of the class"),
        (f"class C:\n    df = {READ}\n    p = [list(x) for x in np.array_split(df['a'], n)]", "gives Series"),
    ],
)
def test_others_are_told(script: str, advice: str) -> None:
    outcome = converted(HEAD + script)
    assert outcome.lines("RM523", Kind.MANUAL) and outcome.text == HEAD + script
    assert any(advice in message for message in outcome.messages)


@pytest.mark.parametrize(
    "script",
    [
        f"p = np.array_split({READ}.values, n)",
        f"p = np.array_split({READ}.to_numpy(), n)",
        "p = np.array_split(found, n)",
        f"df = {READ}\nif n:\n    df = x\np = np.array_split(df, n)",
        "p = np.array_split(range(9), n)",
        "p = np.array_split(pd.read_html('x'), n)",
        f"df = {READ}\np = np.array_split(df.iloc[0]['tokens'], n)",
        f"df = {READ}\nrow = df.iloc[x]\np = np.array_split(row['tokens'], n)",
        f"df = {READ}\np = np.array_split(df['tokens'][0], n)",
        f"df = {READ}\np = np.array_split(df['tokens'].iloc[-1], n)",
        f"df = {READ}\np = np.array_split(df.loc[0, 'tokens'], n)",
        f"df = {READ}\np = np.array_split(df.loc[3:]['tokens'][x], n)",
        "def f(row: pd.Series):\n    return np.array_split(row['tokens'], n)",
        f"p = x.array_split({READ}, n)",
        f"p = np.hsplit({READ}, n)",
    ],
)
def test_what_is_not_known_to_be_a_frame_is_left(script: str) -> None:
    outcome = converted(HEAD + script)
    assert "RM523" not in {code for code, _, _ in outcome.findings}


def test_the_pieces_of_a_column_are_called_series() -> None:
    outcome = converted(f"{HEAD}df = {READ}\np = np.array_split(df['a'], n)")
    assert any("of a Series are arrays, without its index; now Series." in message for message in outcome.messages)
