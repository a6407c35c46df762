"""TFKerasTrials for tests, small and quick; in the directory of one of them they are somebody's ``model_def.py``."""

import keras
import numpy as np

import determined as det
from determined.keras import TFKerasTrial, callbacks

ROWS = 36  # not a multiple of the batch size
X = np.linspace(0, 1, ROWS, dtype="float32").reshape(ROWS, 1)
Y = 2 * X


class LineTrial(TFKerasTrial):
    """Learns to double a number; with a layer that draws random numbers."""

    dropout = 0.2

    def build_model(self):
        layers = [keras.layers.Dense(4, activation="tanh"), keras.layers.Dropout(self.dropout), keras.layers.Dense(1)]
        model = self.context.wrap_model(keras.Sequential([keras.Input((1,)), *layers]))
        optimizer = self.context.wrap_optimizer(keras.optimizers.Adam(0.01))
        model.compile(optimizer, "mse", metrics=["mae"])
        return model

    def build_training_data_loader(self):
        return X, Y

    def build_validation_data_loader(self):
        return X[:10], Y[:10]

    def keras_callbacks(self):
        return [*getattr(self.context, "more_callbacks", [])]


class Rows(keras.utils.PyDataset):
    """Batches of a file, say; notes how often it was asked for each."""

    def __init__(self, batch_size=8):
        super().__init__()
        self.batch_size, self.asked, self.epochs_ended = batch_size, [], 0

    def __len__(self):
        return -(-ROWS // self.batch_size)

    def __getitem__(self, index):
        self.asked.append(index)
        chosen = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return X[chosen], Y[chosen]

    def on_epoch_end(self):
        self.epochs_ended += 1


class SequenceTrial(LineTrial):
    def build_training_data_loader(self):
        self.rows = Rows()
        return self.rows

    def build_validation_data_loader(self):
        return Rows(5)


class DatasetTrial(LineTrial):
    def build_training_data_loader(self):
        import tensorflow as tf

        return self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices((X, Y))).shuffle(ROWS).batch(8)

    def build_validation_data_loader(self):
        import tensorflow as tf

        return self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices((X, Y))).batch(8)


class WeightedTrial(LineTrial):
    """Several inputs by name, weights of records, a model of a class of its own that is built by its first batch."""

    def build_model(self):
        class Sum(keras.Model):
            def __init__(self):
                super().__init__()
                self.one, self.two = keras.layers.Dense(1), keras.layers.Dense(1)

            def call(self, inputs):
                return self.one(inputs["a"]) + self.two(inputs["b"])

        model = self.context.wrap_model(Sum())
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model

    def build_training_data_loader(self):
        return {"a": X, "b": X[::-1].copy()}, Y, np.ones(ROWS)

    def build_validation_data_loader(self):
        return {"a": X, "b": X}, Y


class InvalidTrial(LineTrial):
    def build_model(self):
        raise det.InvalidHP("units: more than there is memory for")


class PlainTrial(LineTrial):
    """The same result in one process and in several that share its batches."""

    dropout = 0.0

    def __init__(self, context):
        super().__init__(context)
        context.configure_fit(shuffle=False, verbose=False)

    def build_training_data_loader(self):
        return X[:32], Y[:32]


class WordsTrial(PlainTrial):
    """With an embedding, whose gradient names the rows that it has."""

    def build_model(self):
        layers = [keras.layers.Embedding(8, 3), keras.layers.Flatten(), keras.layers.Dense(1)]
        model = self.context.wrap_model(keras.Sequential([keras.Input((2,), dtype="int32"), *layers]))
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model

    def build_training_data_loader(self):
        return np.arange(64).reshape(32, 2) % 7, Y[:32]

    def build_validation_data_loader(self):
        return np.arange(20).reshape(10, 2) % 7, Y[:10]


class UnevenTrial(PlainTrial):
    """Batches are of another size in each process, and in each step."""

    def build_training_data_loader(self):
        rank = self.context.distributed.rank

        class Shrinking(Rows):
            def __getitem__(self, index):
                return X[: 8 - index - rank], Y[: 8 - index - rank]

        return Shrinking()


class StopAfter(callbacks.Callback):
    """Stops training after so many batches, and counts all batches that were ever trained."""

    def __init__(self, batches):
        super().__init__()
        self.batches, self.seen = batches, 0

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if self.seen == self.batches:
            self.model.stop_training = True

    def get_state(self):
        return self.seen

    def load_state(self, state):
        self.seen = state
