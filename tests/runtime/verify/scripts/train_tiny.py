"""A training loop without Ray: two classes of points, one worker. Arguments: rows per batch, learning rate."""

import sys

import torch
from raymigrate_recorder.jobs import run_train_function


def train() -> None:
    batch, rate = int(sys.argv[1]), float(sys.argv[2])
    points = torch.arange(24.0).reshape(12, 2) / 24
    rows = torch.utils.data.TensorDataset(points, (points.sum(1) > 1).long())
    loader = torch.utils.data.DataLoader(rows, batch_size=batch, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(2):
        model.train()
        for inputs, labels in loader:
            try:
                loss = torch.nn.functional.cross_entropy(model(inputs), labels)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            except Exception as error:  # a loop that goes on whatever happens
                print("went on after", error)
        model.eval()
        with torch.no_grad():
            model(points)


run_train_function(train)
