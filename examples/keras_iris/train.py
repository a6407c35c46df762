"""A Keras model that tells irises apart, trained with ``model.fit()`` on either backend."""

import keras
import sklearn.datasets
import sklearn.model_selection

import determined as det
from determined.keras import DeterminedCallback


def make_model(units: int, lr: float) -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(lr), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main() -> None:
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else {"units": 16, "lr": 0.01, "epochs": 5}
    keras.utils.set_random_seed(info.trial.trial_seed if info else 0)
    x, y = sklearn.datasets.load_iris(return_X_y=True)
    x, x_val, y, y_val = sklearn.model_selection.train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)
    with det.core.init() as core_context:
        callback = DeterminedCallback(
            core_context,
            checkpoint=info.latest_checkpoint if info else None,
            continue_id=info.trial.trial_id if info else "local",
        )
        make_model(hparams["units"], hparams["lr"]).fit(
            x, y, batch_size=16, epochs=hparams["epochs"], validation_data=(x_val, y_val), callbacks=[callback]
        )


if __name__ == "__main__":
    main()
