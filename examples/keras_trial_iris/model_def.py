"""A Keras model that tells irises apart, as a trial class: the platform trains it, on either backend."""

from typing import Any, List

import keras
import sklearn.datasets
import sklearn.model_selection

from determined.keras import TFKerasTrial, TFKerasTrialContext, callbacks


class IrisTrial(TFKerasTrial):
    def __init__(self, context: TFKerasTrialContext) -> None:
        super().__init__(context)
        x, y = sklearn.datasets.load_iris(return_X_y=True)
        parts = sklearn.model_selection.train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
        self.x, self.x_val, self.y, self.y_val = parts

    def build_model(self) -> keras.Model:
        units = self.context.get_hparam("units")
        model = keras.Sequential(
            [
                keras.Input((4,)),
                keras.layers.Dense(units, activation="relu"),
                keras.layers.Dropout(0.1),
                keras.layers.Dense(units, activation="relu"),
                keras.layers.Dense(3, activation="softmax"),
            ]
        )
        model = self.context.wrap_model(model)
        optimizer = self.context.wrap_optimizer(keras.optimizers.Adam(self.context.get_hparam("lr")))
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model

    def build_training_data_loader(self) -> Any:
        return self.x, self.y

    def build_validation_data_loader(self) -> Any:
        return self.x_val, self.y_val

    def keras_callbacks(self) -> List[keras.callbacks.Callback]:
        return [callbacks.ReduceLROnPlateau(monitor="val_loss", patience=3)]
