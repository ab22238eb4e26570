"""``fit``, ``evaluate`` and ``predict``: each step is one graph, with its metrics and updates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from keras.src import callbacks as callbacks_module
from keras.src import optimizers as optimizers_module
from keras.src import tree
from keras.src.backend import config
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import pythonify_logs

import tfx as tf
from tfx.framework.composite.ragged import is_ragged
from tfx.framework.composite.sparse import is_sparse
from tfx.keras_backend.conversion import convert_to_numpy
from tfx.keras_backend.dataset_adapter import batches_of
from tfx.keras_backend.export import serving_signatures
from tfx.keras_backend.step_functions import StepFunction


class Trainer(base_trainer.Trainer):
    """Training as TensorFlow's backend has it: ``train_step(data)`` uses a gradient tape."""

    def __init__(self) -> None:
        super().__init__()
        self.train_function: Any = None
        self.test_function: Any = None
        self.predict_function: Any = None

    def _default_save_signatures(self) -> dict[str, Any]:
        """What ``tf.saved_model.save(model, path)`` writes."""
        return serving_signatures(self) if self.built else {}

    # Steps, which users override

    def train_step(self, data: Any) -> Any:
        """One update of the weights by a batch; the metrics so far."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self._predicted(x, training=True)
            loss = self._compute_loss(
                x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True
            )
            self._track_loss(loss, x)
            if self.optimizer is not None:
                loss = self.optimizer.scale_loss(loss)
        weights = self.trainable_weights
        if weights:
            gradients = tape.gradient(loss, weights)
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data: Any) -> Any:
        """The metrics so far, with those of a batch."""
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self._predicted(x, training=False)
        loss = self._compute_loss(
            x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False
        )
        self._track_loss(loss, x)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data: Any) -> Any:
        """The predictions for a batch."""
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self._predicted(x, training=False)

    def _predicted(self, x: Any, training: bool) -> Any:
        return self(x, training=training) if self._call_has_training_arg else self(x)

    def _track_loss(self, loss: Any, x: Any) -> None:
        first = next(leaf for leaf in tree.flatten(x) if leaf is not None)
        size = first.shape[0]
        self._loss_tracker.update_state(
            loss, sample_weight=tf.shape(first)[0] if size is None else size
        )

    # The functions of the steps

    def make_train_function(self, force: bool = False) -> Any:
        """Prepare the function that ``fit`` calls for each batch."""
        if self.train_function is None or force:
            self.train_function = StepFunction(self.train_step, bool(self.run_eagerly))
        return self.train_function

    def make_test_function(self, force: bool = False) -> Any:
        """Prepare the function that ``evaluate`` calls for each batch."""
        if self.test_function is None or force:
            self.test_function = StepFunction(self.test_step, bool(self.run_eagerly))
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Any:
        """Prepare the function that ``predict`` calls for each batch."""
        if self.predict_function is None or force:
            self.predict_function = StepFunction(self.predict_step, bool(self.run_eagerly))
        return self.predict_function

    # Loops over data

    @traceback_utils.filter_traceback
    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
    ) -> Any:
        """Train the model; see ``keras.Model.fit``."""
        self._assert_compile_called("fit")
        limit = config.max_epochs()
        if limit and limit < epochs:
            warnings.warn(f"Limiting epochs to {limit}", stacklevel=2)
            epochs = limit
        self._eval_epoch_iterator: Any = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        batches = batches_of(
            x,
            y,
            sample_weight,
            class_weight,
            batch_size=batch_size,
            steps_per_epoch=steps_per_epoch,
            shuffle=shuffle,
            steps_per_execution=self.steps_per_execution,
        )
        self._build_for("train_step", iterator=batches)
        batches.reset()
        callbacks = self._callbacks(callbacks, verbose, epochs, batches, add_history=True)
        self.stop_training = False
        self.make_train_function()
        callbacks.on_train_begin()
        logs: Any = {}
        for epoch in range(self._initial_epoch or initial_epoch, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            logs = self._train_epoch(batches, callbacks)
            if validation_data is not None and self._should_eval(epoch, validation_freq):
                found = self._validate(
                    validation_data,
                    validation_batch_size or batch_size,
                    validation_steps,
                    callbacks,
                )
                logs.update({f"val_{name}": value for name, value in found.items()})
            callbacks.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=logs)
        return self.history

    def _train_epoch(self, batches: Any, callbacks: Any) -> dict[str, Any]:
        logs: Any = {}
        for begin, end, data in batches:
            callbacks.on_train_batch_begin(begin)
            logs = self.train_function(data)
            callbacks.on_train_batch_end(end, logs)
            if self.stop_training:
                break
        return dict(self._get_metrics_result_or_logs(logs))

    def _validate(self, data: Any, batch_size: Any, steps: Any, callbacks: Any) -> dict[str, Any]:
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        if self._eval_epoch_iterator is None:
            self._eval_epoch_iterator = self._test_batches(x, y, sample_weight, batch_size, steps)
        found: dict[str, Any] = self.evaluate(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps=steps,
            callbacks=callbacks,
            return_dict=True,
            _use_cached_eval_dataset=True,
        )
        return found

    @traceback_utils.filter_traceback
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return the loss and the metrics on data; see ``keras.Model.evaluate``."""
        self._assert_compile_called("evaluate")
        cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        if cached:
            batches = self._eval_epoch_iterator
        else:
            batches = self._test_batches(x, y, sample_weight, batch_size, steps)
        self._build_for("test_step", iterator=batches)
        batches.reset()
        callbacks = self._callbacks(callbacks, verbose, 1, batches)
        self.make_test_function()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        logs: Any = {}
        self.reset_metrics()
        for begin, end, data in batches:
            callbacks.on_test_batch_begin(begin)
            logs = self.test_function(data)
            callbacks.on_test_batch_end(end, logs)
            if self.stop_evaluating:
                break
        logs = pythonify_logs(self._get_metrics_result_or_logs(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """Return the predictions for data as arrays; see ``keras.Model.predict``."""
        batches = self._test_batches(x, None, None, batch_size, steps)
        callbacks = self._callbacks(callbacks, verbose, 1, batches)
        self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        found: list[Any] = []
        for begin, end, data in batches:
            callbacks.on_predict_batch_begin(begin)
            outputs = self.predict_function.each(data)
            found += outputs
            callbacks.on_predict_batch_end(end, {"outputs": _joined(outputs)})
            if self.stop_predicting:
                break
        callbacks.on_predict_end()
        return tree.map_structure(_result, _joined(found)) if found else None

    # Single batches

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Train on one batch; see ``keras.Model.train_on_batch``."""
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same "
                    f"time. Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._on_batch(
            (x, y, sample_weight), self.make_train_function, return_dict, "train_function"
        )

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """Evaluate one batch; see ``keras.Model.test_on_batch``."""
        self._assert_compile_called("test_on_batch")
        return self._on_batch(
            (x, y, sample_weight), self.make_test_function, return_dict, "test_function"
        )

    def predict_on_batch(self, x: Any) -> Any:
        """Return the predictions for one batch as arrays."""
        self.make_predict_function()
        return tree.map_structure(_result, self.predict_function([(x,)]))

    def _on_batch(
        self, data: Any, make: Callable[[], Any], return_dict: bool, function: str
    ) -> Any:
        self._build_for(function.replace("_function", "_step"), data_batch=data)
        make()
        self.reset_metrics()
        logs = pythonify_logs(getattr(self, function)([data]))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    # Shared

    def _build_for(self, step: str, **data: Any) -> None:
        """Build the model, unless the step is the program's own.

        Such a model need not have a ``call``, nor data of the usual form: what its step makes is
        made while it is traced.
        """
        if getattr(type(self), step) is getattr(Trainer, step):
            self._symbolic_build(**data)

    def _symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        """Make the variables of a model that has not seen data, from the first batch if any."""
        if iterator is not None and data_batch is None:
            for _, _, batches in iterator:
                data_batch = batches[0] if isinstance(batches, list | tuple) else next(batches)
                break
            else:
                return
        super()._symbolic_build(data_batch=tree.map_structure(_texts_as_tensor, data_batch))

    def _test_batches(self, x: Any, y: Any, sample_weight: Any, batch_size: Any, steps: Any) -> Any:
        return batches_of(
            x,
            y,
            sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps,
            shuffle=False,
            steps_per_execution=self.steps_per_execution,
        )

    def _callbacks(
        self,
        callbacks: Any,
        verbose: Any,
        epochs: int,
        batches: Any,
        *,
        add_history: bool = False,
    ) -> Any:
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        return callbacks_module.CallbackList(
            callbacks,
            add_history=add_history,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=epochs,
            steps=batches.num_batches,
            model=self,
        )


def _texts_as_tensor(x: Any) -> Any:
    """An array of texts as a tensor, whose dtype Keras knows."""
    return tf.constant(x) if isinstance(x, np.ndarray) and x.dtype.kind in "OSU" else x


def _result(x: Any) -> Any:
    return x if is_ragged(x) or is_sparse(x) else convert_to_numpy(x)


def _joined(outputs: Iterable[Any]) -> Any:
    """The predictions of several batches in one structure."""
    first, *others = outputs
    if not others:
        return first
    return tree.map_structure(_joined_parts, first, *others)


def _joined_parts(*parts: Any) -> Any:
    """Batches one behind the other; a ragged tensor where their examples differ in shape."""
    if is_ragged(parts[0]):
        return tf.concat(parts, 0)
    if is_sparse(parts[0]):
        return tf.sparse.concat(0, parts)
    arrays = [convert_to_numpy(part) for part in parts]
    inner = {array.shape[1:] for array in arrays}
    if len(inner) == 1:
        return np.concatenate(arrays)
    differ = [len(set(sizes)) > 1 for sizes in zip(*inner, strict=True)]
    last = max(axis for axis, differs in enumerate(differ, 1) if differs)
    return tf.concat([tf.RaggedTensor.from_tensor(a, ragged_rank=last) for a in arrays], 0)
