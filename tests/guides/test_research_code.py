"""Programs as researchers write them; TensorFlow 2.21 gives the numbers that are expected here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf


def waves(*shape: int, scale: float = 0.3, shift: float = 0.0) -> Any:
    """Numbers that look random and are the same everywhere."""
    numbers = np.sin(np.arange(int(np.prod(shape))) * 0.7 + shift) * scale
    return tf.constant(numbers.reshape(shape), tf.float32)


def weights(*shape: int, scale: float = 0.3, shift: float = 0.0) -> Any:
    return tf.Variable(waves(*shape, scale=scale, shift=shift))


def total(values: Any) -> list[float]:
    return [float(tf.reduce_sum(v)) for v in tf.nest.flatten(values)]


def normalizing_flow() -> list[float]:
    """Layers that scale by a network of the other half; the first batch sets shift and scale."""
    nets = [(weights(1, 8, shift=i), weights(8, 2, shift=i + 1)) for i in range(3)]
    mean, scale, known = tf.Variable(tf.zeros(2)), tf.Variable(tf.ones(2)), tf.Variable(False)
    trained = [w for net in nets for w in net]
    x = waves(32, 2, scale=2.0)

    @tf.function
    def forward(x: Any) -> Any:
        if not known:
            m, v = tf.nn.moments(x, [0])
            mean.assign(m)
            scale.assign(tf.math.rsqrt(v + 1e-6))
            known.assign(True)
        z = (x - mean) * scale
        determinant = tf.reduce_sum(tf.math.log(scale))
        for first, second in nets:
            kept, other = tf.split(z, 2, -1)
            log_scale, shift = tf.split(tf.nn.leaky_relu(kept @ first) @ second, 2, -1)
            other = other * tf.exp(tf.tanh(log_scale)) + shift
            determinant += tf.reduce_sum(tf.tanh(log_scale), -1)
            z = tf.concat([other, kept], -1)
        return z, determinant

    def backward(z: Any) -> Any:
        for first, second in reversed(nets):
            other, kept = tf.split(z, 2, -1)
            log_scale, shift = tf.split(tf.nn.leaky_relu(kept @ first) @ second, 2, -1)
            z = tf.concat([kept, (other - shift) * tf.exp(-tf.tanh(log_scale))], -1)
        return z / scale + mean

    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            z, determinant = forward(x)
            likelihood = -0.5 * tf.reduce_sum(z**2 + np.log(2 * np.pi), -1) + determinant
            loss = -tf.reduce_mean(likelihood)
        losses.append(float(loss))
        for w, slope in zip(trained, tape.gradient(loss, trained), strict=True):
            w.assign_sub(0.1 * slope)
    np.testing.assert_allclose(backward(forward(x)[0]), x, atol=1e-4)
    return losses


def learning_to_learn() -> list[float]:
    """Steps of inner gradient descent, through which the outer gradient goes, for each task."""
    params = [weights(1, 12), tf.Variable(tf.zeros(12)), weights(12, 1, shift=1.0)]

    def error(x: Any, y: Any, p: Any) -> Any:
        return tf.reduce_mean((tf.nn.relu(x @ p[0] + p[1]) @ p[2] - y) ** 2)

    @tf.function
    def step(xs: Any, ys: Any) -> Any:
        def task(xy: Any) -> Any:
            x, y = xy
            p = list(map(tf.identity, params))
            for _ in range(2):
                with tf.GradientTape() as inner:
                    inner.watch(p)
                    e = error(x, y, p)
                p = [q - 0.2 * slope for q, slope in zip(p, inner.gradient(e, p), strict=True)]
            return error(-x, -y, p)

        with tf.GradientTape() as outer:
            each = tf.map_fn(task, (xs, ys), fn_output_signature=tf.float32)
            loss = tf.reduce_mean(each)
        for p, slope in zip(params, outer.gradient(loss, params), strict=True):
            p.assign_sub(0.3 * slope)
        return loss

    x = waves(3, 5, 1, scale=1.0)
    return [float(step(x, tf.sin(3 * x))) for _ in range(3)]


def adjoint_of_an_equation() -> list[float]:
    """An integrator whose gradient is integrated backwards, beside the one through its steps."""
    first, second = weights(2, 10), weights(10, 2, shift=2.0)
    count, span = 40, 1.0

    def slope(y: Any) -> Any:
        return tf.tanh(y @ first) @ second

    def steps(y: Any) -> Any:
        for _ in range(count):
            y = y + span / count * slope(y)
        return y

    @tf.custom_gradient
    def integrate(y: Any) -> Any:
        end = steps(y)

        def backwards(upstream: Any, variables: Any = None) -> Any:
            state, adjoint = end, upstream
            sums = [tf.zeros_like(v) for v in variables]
            for _ in range(count):
                with tf.GradientTape() as tape:
                    tape.watch(state)
                    velocity = slope(state)
                found = tape.gradient(velocity, [state, *variables], output_gradients=adjoint)
                adjoint += span / count * found[0]
                sums = [s + span / count * f for s, f in zip(sums, found[1:], strict=True)]
                state -= span / count * velocity
            return adjoint, sums

        return end, backwards

    start = tf.constant([[2.0, -1.0]])
    slopes = []
    for method in (integrate, steps, tf.function(integrate)):
        with tf.GradientTape() as tape:
            tape.watch(start)
            loss = tf.reduce_sum(method(start) ** 2)
        slopes.append(tape.gradient(loss, [start, first, second]))
    for a, b, c in zip(*slopes, strict=True):
        np.testing.assert_allclose(a, b, rtol=0.1, atol=0.02)
        np.testing.assert_allclose(a, c, rtol=1e-4, atol=1e-5)
    return [float(loss), *total(slopes[0])]


def a_law_as_a_loss() -> list[float]:
    """Burgers' equation: second derivatives of a network to its inputs, trained through."""
    ws = [weights(2, 12, scale=0.8), weights(12, 12, shift=1.0), weights(12, 1, shift=2.0)]
    x, t = waves(20, 1, scale=1.0), waves(20, 1, scale=1.0, shift=0.4) ** 2

    def u(x: Any, t: Any) -> Any:
        h = tf.concat([x, t], 1)
        for w in ws[:-1]:
            h = tf.tanh(h @ w)
        return h @ ws[-1]

    @tf.function
    def train() -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(ws)
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape(persistent=True) as first:
                    first.watch([x, t])
                    value = u(x, t)
                by_x, by_t = first.gradient(value, x), first.gradient(value, t)
            residual = by_t + value * by_x - 0.01 / np.pi * second.gradient(by_x, x)
            edge = u(x, tf.zeros_like(x)) + tf.sin(np.pi * x)
            loss = tf.reduce_mean(residual**2) + tf.reduce_mean(edge**2)
        for w, slope in zip(ws, tape.gradient(loss, ws), strict=True):
            w.assign_sub(0.1 * slope)
        return loss

    return [float(train()) for _ in range(4)]


def denoising_chain() -> list[float]:
    """Noise that a network learns to predict, and the chain back from noise in one loop."""
    betas = np.linspace(1e-4, 0.05, 20, dtype=np.float32)
    kept = tf.math.cumprod(1.0 - betas)
    w = [weights(6, 16), weights(16, 2, shift=1.0)]

    def predict(x: Any, t: Any) -> Any:
        angles = tf.cast(t, tf.float32)[:, None] * [0.5, 0.05]
        return tf.nn.silu(tf.concat([x, tf.sin(angles), tf.cos(angles)], -1) @ w[0]) @ w[1]

    @tf.function
    def train(x: Any, t: Any, noise: Any) -> Any:
        level = tf.gather(kept, t)[:, None]
        with tf.GradientTape() as tape:
            guess = predict(tf.sqrt(level) * x + tf.sqrt(1.0 - level) * noise, t)
            loss = tf.reduce_mean(tf.math.squared_difference(guess, noise))
        for v, slope in zip(w, tape.gradient(loss, w), strict=True):
            v.assign_sub(0.1 * slope)
        return loss

    @tf.function
    def sample(x: Any) -> Any:
        for t in tf.range(19, -1, -1):
            beta = tf.gather(betas, t)
            guess = predict(x, tf.fill([tf.shape(x)[0]], t))
            x = (x - beta / tf.sqrt(1.0 - kept[t]) * guess) / tf.sqrt(1.0 - beta)
            if t > 0:
                x += tf.sqrt(beta) * tf.cos(9 * x)
        return x

    batch = waves(16, 2, scale=1.0), tf.range(16), waves(16, 2, scale=1.4, shift=3.0)
    losses = [float(train(*batch)) for _ in range(3)]
    return [*losses, *total(sample(waves(4, 2, scale=1.0)))]


def a_world_in_a_scan() -> list[float]:
    """A recurrent model of structures: what is believed before and after each observation."""
    cell, before, after = weights(6 + 2 + 4, 18), weights(6, 8, shift=1.0), weights(9, 8, shift=2.0)

    def belief(x: Any, w: Any) -> Any:
        mean, spread = tf.split(x @ w, 2, -1)
        return {"mean": mean, "spread": tf.nn.softplus(spread) + 0.1}

    def step(last: Any, given: Any) -> Any:
        seen, action, noise = given
        state = tf.concat([last["memory"], action, last["z"]], -1) @ cell
        reset, fresh, update = tf.split(state, 3, -1)
        update = tf.sigmoid(update - 1)
        memory = update * tf.tanh(tf.sigmoid(reset) * fresh) + (1 - update) * last["memory"]
        posterior = belief(tf.concat([memory, seen], -1), after)
        z = posterior["mean"] + posterior["spread"] * noise
        return {"memory": memory, "z": z, "p": belief(memory, before), "q": posterior}

    @tf.function
    def loss(seen: Any, action: Any, noise: Any) -> Any:
        none = tf.zeros([tf.shape(seen)[1], 4])
        nothing = {"mean": none, "spread": none}
        start = {"memory": tf.pad(none, [[0, 0], [0, 2]]), "z": none, "p": nothing, "q": nothing}
        with tf.GradientTape() as tape:
            run = tf.scan(step, (seen, action, noise), start)
            p, q = run["p"], run["q"]
            apart = tf.math.log(p["spread"] / q["spread"]) - 0.5
            apart += (q["spread"] ** 2 + (q["mean"] - p["mean"]) ** 2) / (2 * p["spread"] ** 2)
            value = tf.reduce_mean(tf.reduce_sum(apart, -1)) + tf.reduce_mean(run["z"] ** 2)
        return value, tape.gradient(value, [cell, before, after])

    given = waves(5, 3, 3, scale=1.0), waves(5, 3, 2, scale=1.0), waves(5, 3, 4, scale=1.0)
    value, slopes = loss(*given)
    return [float(value), *[float(tf.norm(s)) for s in slopes]]


def most_likely_path() -> list[float]:
    """A linear chain: its partition function with masks, its gradient, and the best path."""
    moves, scores = weights(3, 3, scale=1.0), weights(2, 4, 3, scale=1.0, shift=0.5)
    tags, lengths = tf.constant([[0, 2, 1, 1], [1, 0, 0, 0]]), tf.constant([4, 2])

    def loss() -> Any:
        mask = tf.sequence_mask(lengths, 4, tf.float32)
        given = tf.reduce_sum(tf.gather(scores, tags, batch_dims=2) * mask, 1)
        pairs = tf.stack([tags[:, :-1], tags[:, 1:]], -1)
        given += tf.reduce_sum(tf.gather_nd(moves, pairs) * mask[:, 1:], 1)
        alpha = scores[:, 0]
        for t in tf.range(1, 4):
            ahead = tf.reduce_logsumexp(alpha[:, :, None] + moves[None], 1) + scores[:, t]
            alpha = tf.where(mask[:, t, None] > 0, ahead, alpha)
        return tf.reduce_mean(tf.reduce_logsumexp(alpha, 1) - given)

    @tf.function
    def best(score: Any) -> Any:
        count = tf.shape(score)[0]
        origins = tf.TensorArray(tf.int64, count)
        path = tf.TensorArray(tf.int64, count)
        value = score[0]
        for t in tf.range(1, count):
            reached = value[:, None] + moves
            origins = origins.write(t, tf.argmax(reached, 0))
            value = tf.reduce_max(reached, 0) + score[t]
        place = tf.argmax(value)
        path = path.write(count - 1, place)
        for t in tf.range(count - 1, 0, -1):
            place = origins.read(t)[place]
            path = path.write(t - 1, place)
        return path.stack(), tf.reduce_max(value)

    with tf.GradientTape() as tape:
        value = tf.function(loss)()
    slopes = tape.gradient(value, [moves, scores])
    path, reached = best(scores[0])
    return [float(value), *[float(tf.norm(s)) for s in slopes], *map(float, path), float(reached)]


def attributions_in_batches() -> list[float]:
    """Gradients along a path from a baseline, scattered into an array a batch at a time."""
    kernel, head = waves(3, 3, 3, 4), waves(64, 5, scale=2.0, shift=1.0)
    image, base = waves(8, 8, 3, scale=1.0), tf.zeros([8, 8, 3])

    def probability(x: Any) -> Any:
        h = tf.nn.relu(tf.nn.conv2d(x, kernel, 2, "SAME"))
        return tf.nn.softmax(tf.reshape(h, [tf.shape(x)[0], 64]) @ head)[:, 3]

    @tf.function
    def attributions(count: Any, size: int = 8) -> Any:
        alphas = tf.linspace(0.0, 1.0, count + 1)
        found = tf.TensorArray(tf.float32, count + 1)
        for first in tf.range(0, len(alphas), size):
            last = tf.minimum(first + size, len(alphas))
            points = base + alphas[first:last, None, None, None] * (image - base)
            with tf.GradientTape() as tape:
                tape.watch(points)
                value = probability(points)
            found = found.scatter(tf.range(first, last), tape.gradient(value, points))
        slopes = found.stack()
        return (image - base) * tf.reduce_mean((slopes[:-1] + slopes[1:]) / 2.0, 0)

    found = attributions(tf.constant(50))
    whole = probability(image[None])[0] - probability(base[None])[0]
    tf.debugging.assert_near(tf.reduce_sum(found), whole, rtol=0.02)
    return [float(tf.reduce_sum(found)), float(tf.reduce_sum(tf.abs(found)))]


def policy_with_an_environment() -> list[float]:
    """An episode inside a function, with an environment of NumPy that may end it early."""
    body, policy, value = weights(4, 8), weights(8, 2, shift=1.0), weights(8, 1, shift=2.0)
    state: dict[str, Any] = {}

    @tf.numpy_function(Tout=[tf.float32, tf.float32, tf.bool])
    def act(action: Any) -> Any:
        state["at"] = (state["at"] * 0.9 + (action - 0.5) * 0.2).astype(np.float32)
        state["time"] += 1
        return state["at"], np.float32(1 - abs(state["at"]).sum()), state["time"] >= 7

    @tf.function
    def episode(at: Any, limit: Any) -> Any:
        shape = at.shape
        kept = [tf.TensorArray(tf.float32, 0, dynamic_size=True) for _ in range(3)]
        logs, values, rewards = kept
        with tf.GradientTape() as tape:
            for t in tf.range(limit):
                h = tf.nn.relu(at[None] @ body)
                logits = h @ policy
                action = tf.argmax(logits[0])
                logs = logs.write(t, tf.nn.log_softmax(logits)[0, action])
                values = values.write(t, tf.squeeze(h @ value))
                at, reward, done = act(action)
                at.set_shape(shape)
                rewards = rewards.write(t, reward)
                if done:
                    break
            back, returns = rewards.stack()[::-1], tf.TensorArray(tf.float32, limit)
            whole = tf.constant(0.0)
            for i in tf.range(tf.shape(back)[0]):
                whole = back[i] + 0.9 * whole  # of what NumPy returns the shape is not known
                whole.set_shape([])
                returns = returns.write(i, whole)
            gains = returns.stack()[: tf.shape(back)[0]][::-1]
            ahead = gains - values.stack()
            loss = -tf.reduce_sum(logs.stack() * ahead) + tf.reduce_sum(ahead**2)
        return tf.reduce_sum(back), loss, tape.gradient(loss, [body, policy, value])

    state.update(at=np.array([0.1, -0.2, 0.05, 0.3], np.float32), time=0)
    reward, loss, slopes = episode(tf.constant(state["at"]), tf.constant(20))
    assert state["time"] == 7
    return [float(reward), float(loss), *[float(tf.norm(s)) for s in slopes]]


PROGRAMS: list[tuple[Callable[[], list[float]], list[float]]] = [
    (normalizing_flow, [3.50772, 3.47356, 3.44278]),
    (learning_to_learn, [0.325076, 0.280859, 0.246003]),
    (adjoint_of_an_equation, [4.8386, 2.00321, 0.92013, -0.381124]),
    (a_law_as_a_loss, [0.39299, 0.301795, 0.258349, 0.233985]),
    (denoising_chain, [0.912119, 0.889609, 0.868019, 0.0415026]),
    (a_world_in_a_scan, [1.26564, 0.214354, 0.229083, 2.0368]),
    (most_likely_path, [4.1141, 0.674805, 1.20213, 1.0, 0.0, 1.0, 0.0, 3.53953]),
    (attributions_in_batches, [0.00292685, 4.29792]),
    (policy_with_an_environment, [-1.49086, 10.0655, 3.06044, 1.99669, 4.44584]),
]


@pytest.mark.parametrize(("program", "expected"), PROGRAMS, ids=[p.__name__ for p, _ in PROGRAMS])
def test_a_program(program: Callable[[], list[float]], expected: list[float]) -> None:
    np.testing.assert_allclose(program(), expected, rtol=2e-4, atol=2e-5)
