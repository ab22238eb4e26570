"""Summaries of TensorFlow 1: computed by sessions, collected, merged and written."""

from __future__ import annotations

import io
import wave

import numpy as np
import pytest

import tfx as tf
from tests.unit.summary.reading import records
from tfx.summary import event_pb2 as pb

v1 = tf.compat.v1


def test_a_session_computes_what_was_collected(tmp_path):
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None])
        with v1.name_scope("train"):
            loss = v1.summary.scalar("loss", tf.reduce_sum(x), family="all")
        v1.summary.histogram("weights", x)
        v1.summary.text("note", tf.constant("**hello**"), collections=["texts"])
        merged, texts = v1.summary.merge_all(), v1.summary.merge_all("texts")
        assert v1.summary.merge_all("nothing") is None
        assert loss in v1.get_collection(v1.GraphKeys.SUMMARIES)
        with v1.Session() as session, v1.summary.FileWriter(tmp_path, graph) as writer:
            found, text = session.run([merged, texts], {x: [1.0, 2.0]})
            writer.add_summary(found, global_step=3)
            writer.add_summary(v1.summary.Summary.FromString(text))
    message = v1.summary.Summary.FromString(found)
    assert [v.tag for v in message.value] == ["train/all/loss", "weights"]
    assert np.frombuffer(message.value[0].tensor.tensor_content, "<f4").tolist() == [3.0]
    (path,) = tmp_path.iterdir()
    first, with_graph, *written = [pb.Event.FromString(r) for r in records(path)]
    assert first.file_version == "brain.Event:2"
    assert with_graph.graph_def
    assert [e.step for e in written] == [3, 0]
    assert written[1].summary.value[0].tensor.string_val[0] == b"**hello**"


def test_writers_can_be_reopened(tmp_path):
    writer = v1.summary.FileWriter(str(tmp_path), filename_suffix=".mine")
    assert writer.get_logdir() == str(tmp_path)
    writer.add_event(v1.summary.Event(step=7))
    writer.flush()
    writer.close()
    writer.close()
    with pytest.raises(RuntimeError, match="is closed; call reopen"):
        writer.add_summary(b"")
    writer.reopen()
    writer.add_summary(b"", 1)
    writer.close()
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 2
    assert all(p.name.endswith(".mine") for p in paths)


def test_what_is_no_scalar_is_refused():
    with v1.Graph().as_default(), v1.Session() as session:
        loss = v1.summary.scalar("loss", tf.ones([2]))
        with pytest.raises(tf.errors.OpError, match="takes a scalar"):
            session.run(loss)


def _values(summary):
    with v1.Session() as session:
        return v1.summary.Summary.FromString(session.run(summary)).value


def test_pictures():
    x = np.zeros([4, 2, 3, 3], np.float32)
    x[0, 0, 0], x[0, 1, 2] = [0.5, 0.25, 0.0], [2.0, 1.0, 4.0]
    x[1, 0, 0], x[1, 1, 1] = [-2.0, 1.0, 0.5], [np.nan, 0.0, 1.0]
    with v1.Graph().as_default():
        with v1.name_scope("a"):
            several = _values(v1.summary.image("x", tf.constant(x), family="all"))
        one = _values(v1.summary.image("x", tf.constant(x[:, :, :, :1]), max_outputs=1))
        whole = np.arange(18, dtype=np.uint8).reshape(1, 2, 3, 3)
        (bytes_,) = _values(v1.summary.image("b", tf.constant(whole)))
        wrong = v1.summary.image("w", tf.ones([2, 2]))
        with pytest.raises(tf.errors.OpError, match="takes images"), v1.Session() as session:
            session.run(wrong)
    assert [v.tag for v in several] == [f"a/all/x/image/{i}" for i in range(3)]
    assert [v.tag for v in one] == ["x/image"]
    assert several[0].metadata.plugin_data.plugin_name == "images"
    width, height, first = several[0].tensor.string_val
    assert (width, height) == (b"3", b"2")
    # What TensorFlow 2.21 writes: 255 / 4, and 127 / 2 around 128, what is not finite is red.
    expected = np.zeros([2, 3, 3], np.uint8)
    expected[0, 0], expected[1, 2] = [31, 15, 0], [127, 63, 255]
    np.testing.assert_array_equal(tf.io.decode_png(first), expected)
    expected = np.full([2, 3, 3], 128, np.uint8)
    expected[0, 0], expected[1, 1] = [1, 191, 159], [255, 0, 0]
    np.testing.assert_array_equal(tf.io.decode_png(several[1].tensor.string_val[2]), expected)
    np.testing.assert_array_equal(tf.io.decode_png(several[2].tensor.string_val[2]), 0 * expected)
    np.testing.assert_array_equal(tf.io.decode_png(bytes_.tensor.string_val[2]), whole[0])


def test_sounds():
    x = np.linspace(-1.5, 1, 10, dtype=np.float32).reshape(2, 5)
    with v1.Graph().as_default():
        rate = v1.placeholder_with_default(8000, [])
        found = _values(v1.summary.audio("x", tf.constant(x), rate))
        (stereo,) = _values(v1.summary.audio("y", tf.constant(x[:, :, None]), 8000, 1))
        wrong = v1.summary.audio("w", tf.ones([2]), 8000)
        with pytest.raises(tf.errors.OpError, match="takes sounds"), v1.Session() as session:
            session.run(wrong)
    assert [v.tag for v in (*found, stereo)] == ["x/audio/0", "x/audio/1", "y/audio"]
    assert found[0].metadata.plugin_data.plugin_name == "audio"
    with wave.open(io.BytesIO(found[1].tensor.string_val[0])) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes()) == (8000, 1, 5)
        frames = np.frombuffer(sound.readframes(5), "<i2")
    np.testing.assert_array_equal(frames, np.clip(np.rint(x[1] * 32768.0), -32768, 32767))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: v1.summary.image("x", tf.zeros([1, 0, 2, 3], tf.uint8)), "without pixels"),
        (lambda: v1.summary.image("x", tf.zeros([1, 2, 2, 2])), "1, 3 or 4 channels"),
        (lambda: v1.summary.audio("x", tf.zeros([1, 4]), -8000), "positive sample rate"),
        (lambda: v1.summary.audio("x", tf.zeros([1, 4]), 2**40), "positive sample rate"),
        (lambda: v1.summary.audio("x", tf.zeros([1, 4, 0]), 8000), "at least one channel"),
    ],
    ids=["pixels", "channels", "rate", "huge", "mute"],
)
def test_what_no_file_can_hold_is_refused(make, message):
    with v1.Graph().as_default():
        summary = make()
        with pytest.raises(tf.errors.OpError, match=message):
            _values(summary)


def test_nothing_to_show():
    with v1.Graph().as_default():
        assert not _values(v1.summary.image("x", tf.zeros([0, 2, 2, 3])))
        assert not _values(v1.summary.audio("x", tf.zeros([0, 4, 2]), 8000))
        (silent,) = _values(v1.summary.audio("x", tf.constant([[np.nan, 1.0]]), 8000, 1))
    with wave.open(io.BytesIO(silent.tensor.string_val[0])) as sound:
        assert np.frombuffer(sound.readframes(2), "<i2").tolist() == [0, 32767]


def test_whole_tensors():
    metadata = pb.Metadata(plugin_data=pb.Metadata.PluginData(plugin_name="mine", content=b"3"))
    with v1.Graph().as_default():
        made = v1.summary.tensor_summary(
            "t", tf.constant([[1, 2]]), "what it is", summary_metadata=metadata, display_name="T"
        )
        with v1.Session() as session:
            merged = session.run(v1.summary.merge_all())
        (value,) = _values(made)
    assert v1.summary.Summary.FromString(merged).value[0] == value
    assert value.tag == "t"
    assert value.metadata.plugin_data == metadata.plugin_data
    assert (value.metadata.display_name, value.metadata.summary_description) == ("T", "what it is")
    assert np.frombuffer(value.tensor.tensor_content, "<i4").tolist() == [1, 2]
    assert [d.size for d in value.tensor.tensor_shape.dim] == [1, 2]


def test_one_writer_for_a_folder(tmp_path):
    cache = v1.summary.FileWriterCache
    with v1.Graph().as_default():
        writer = cache.get(str(tmp_path))
        assert cache.get(str(tmp_path)) is writer
        cache.clear()
        with pytest.raises(RuntimeError, match="is closed"):
            writer.add_summary(b"")
        assert cache.get(str(tmp_path)) is not writer
        cache.clear()


def test_programs_make_messages_of_their_own(tmp_path):
    numbers = v1.HistogramProto(min=0, max=2, num=2, sum=2, sum_squares=4, bucket_limit=[1, 3])
    numbers.bucket.extend([1, 1])
    image = v1.Summary.Image(height=1, width=2, colorspace=3, encoded_image_string=b"png")
    made = v1.Summary(value=[v1.Summary.Value(tag="accuracy", simple_value=0.25)])
    made.value.add(tag="weights", histo=numbers)
    made.value.add(tag="picture", image=image)
    made.value.add(tag="tensor", tensor=tf.make_tensor_proto([1, 2]))
    with v1.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(made, 5)
        log = v1.SessionLog(status=v1.SessionLog.CHECKPOINT, checkpoint_path="model-5")
        writer.add_session_log(log, 6)
        writer.add_event(v1.Event(step=7, log_message=v1.LogMessage(message="done")))
    (path,) = tmp_path.iterdir()
    _, values, session, message = v1.train.summary_iterator(str(path))
    assert (values.step, session.step, message.step) == (5, 6, 7)
    accuracy, weights, picture, tensor = values.summary.value
    assert (accuracy.tag, accuracy.simple_value) == ("accuracy", 0.25)
    assert accuracy.WhichOneof("value") == "simple_value"
    assert list(weights.histo.bucket_limit) == [1, 3]
    assert picture.image == image
    assert tf.make_ndarray(tensor.tensor).tolist() == [1, 2]
    assert session.session_log.checkpoint_path == "model-5"
    assert message.log_message.message == "done"


def test_files_are_read_while_a_graph_is_built(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path, "GZIP") as writer:
        writer.write(b"one")
    with v1.Graph().as_default(), v1.summary.FileWriter(tmp_path / "logs") as writer:
        writer.add_summary(b"", 4)
        writer.flush()
        (events,) = (tmp_path / "logs").iterdir()
        assert [e.step for e in v1.train.summary_iterator(str(events))] == [0, 4]
        assert list(v1.python_io.tf_record_iterator(path, "GZIP")) == [b"one"]
        with pytest.raises(tf.errors.NotFoundError):
            list(v1.python_io.tf_record_iterator(path + ".none"))
