"""Handwritten digits with a PyTorchTrial, which the platform or a Trainer drives."""
import sklearn.datasets
import torch
from torch import nn

from determined import pytorch


def digits(train):
    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    images = torch.tensor(images[:512], dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    data = torch.utils.data.TensorDataset(images, torch.tensor(labels[:512]))
    return torch.utils.data.Subset(data, range(384) if train else range(384, 512))


class DigitsTrial(pytorch.PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        self.batch_size = 64 // context.distributed.get_size()
        layers = [nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10), nn.LogSoftmax(dim=1)]
        self.model = context.wrap_model(nn.Sequential(*layers))
        self.optimizer = context.wrap_optimizer(torch.optim.Adadelta(self.model.parameters(), lr=context.get_hparam("lr")))
        self.loss = nn.NLLLoss()
        begins = sum(float(parameter.sum()) for parameter in self.model.parameters())
        print(f"outcome seed {torch.initial_seed()}, begins with {begins:.6f}", flush=True)

    def build_training_data_loader(self):
        # Not shuffled: of one seed, each library makes an order of its own.
        return pytorch.DataLoader(digits(True), batch_size=self.batch_size)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(digits(False), batch_size=self.batch_size)

    def train_batch(self, batch: pytorch.TorchData, epoch_idx: int, batch_idx: int):
        images, labels = batch
        loss = self.loss(self.model(images), labels)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: pytorch.TorchData, batch_idx: int):
        images, labels = batch
        output = self.model(images)
        return {
            "validation_loss": self.loss(output, labels).item(),
            "accuracy": (output.argmax(dim=1) == labels).float().mean().item(),
        }
