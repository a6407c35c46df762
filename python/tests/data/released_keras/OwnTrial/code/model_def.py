"""TFKerasTrials of the released library, for Keras 2, as one wrote them then."""

import numpy as np
import tensorflow as tf

from determined.keras import TFKerasTrial, callbacks

keras = tf.keras
random = np.random.RandomState(0)
WORDS, NUMBERS = random.randint(0, 11, (24, 6)), random.normal(size=(24, 3)).astype("float32")
Y = NUMBERS.sum(axis=1, keepdims=True)


class LayersTrial(TFKerasTrial):
    """A model of layers of many kinds, one a model itself."""

    def build_model(self):
        words = keras.Input((6,), dtype="int32", name="words")
        numbers = keras.Input((3,), name="numbers")
        x = keras.layers.Embedding(11, 4)(words)
        x = keras.layers.Bidirectional(keras.layers.LSTM(3))(x)
        inner = keras.Sequential(
            [keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.BatchNormalization()]
        )
        z = keras.layers.Concatenate()([x, inner(numbers)])
        z = keras.layers.Dropout(0.0)(z)
        model = self.context.wrap_model(keras.Model([words, numbers], keras.layers.Dense(1, use_bias=False)(z)))
        optimizer = self.context.wrap_optimizer(keras.optimizers.Adam(self.context.get_hparam("lr")))
        model.compile(optimizer, "mse", metrics=["mae"])
        return model

    def build_training_data_loader(self):
        return [WORDS, NUMBERS], Y

    def build_validation_data_loader(self):
        return [WORDS[:8], NUMBERS[:8]], Y[:8]

    def keras_callbacks(self):
        return [callbacks.ReduceLROnPlateau(monitor="val_loss", patience=2)]


class Own(keras.Model):
    """A model of a class of its own, built by its first batch."""

    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(4, activation="tanh")
        self.blocks = [keras.layers.Dense(4), keras.layers.LayerNormalization()]
        self.last = keras.layers.Dense(1)

    def call(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


class OwnTrial(LayersTrial):
    def build_model(self):
        model = self.context.wrap_model(Own())
        model.compile(
            self.context.wrap_optimizer(keras.optimizers.SGD(self.context.get_hparam("lr"), momentum=0.9)), "mse"
        )
        return model

    def build_training_data_loader(self):
        return NUMBERS, Y

    def build_validation_data_loader(self):
        return NUMBERS[:8], Y[:8]
