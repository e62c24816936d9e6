// libtorch's side of the benchmark: W1, W2 and W7 in C++, without an interpreter.
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "bench/serve.h"

using torch::Tensor;

static std::function<void()> step;
static std::shared_ptr<torch::optim::Optimizer> optimizer;

static Tensor leaf(std::vector<int64_t> sizes)
{
    return (torch::randn(sizes) * 0.5).set_requires_grad(true);
}

enum { SGD, ADAM, LOSS };

static void train(std::vector<Tensor> parameters, int kind, std::function<Tensor()> loss)
{
    if (kind == LOSS) {
        step = [loss] { loss(); };
        return;
    }
    if (kind == ADAM) {
        optimizer = std::make_shared<torch::optim::Adam>(parameters, 1e-3);
    } else {
        optimizer = std::make_shared<torch::optim::SGD>(parameters, 1e-3);
    }
    step = [loss] {
        optimizer->zero_grad();
        loss().backward();
        optimizer->step();
    };
}

static const char *prepare_toy(const workload *w)
{
    const Tensor ids = torch::arange(5, torch::kLong);
    const Tensor targets = torch::tensor({1, 2, 3, 4, 0}, torch::kLong);
    const Tensor mask = torch::ones({5, 5}, torch::kBool).triu(1), pe = torch::randn({5, 2});
    const Tensor embedding = leaf({5, 2}), q = leaf({2, 2}), k = leaf({2, 2}), v = leaf({2, 2});
    const Tensor weight = leaf({5, 2}), bias = leaf({5});
    train({embedding, q, k, v, weight, bias}, w->variant, [=] {
        const Tensor x = torch::embedding(embedding, ids) + pe;
        const Tensor keys = torch::linear(x, k).transpose(0, 1);
        const Tensor scores = torch::matmul(torch::linear(x, q), keys) / std::sqrt(2.0);
        const Tensor weights = torch::softmax(scores.masked_fill(mask, -1e9), 1);
        const Tensor attended = torch::matmul(weights, torch::linear(x, v));
        return torch::cross_entropy_loss(torch::linear(attended + x, weight, bias), targets);
    });
    return nullptr;
}

static const char *prepare_head(const workload *)
{
    const Tensor x = torch::randn({4, 8, 32}), mask = torch::ones({8, 8}, torch::kBool).triu(1);
    const Tensor q = leaf({16, 32}), k = leaf({16, 32}), v = leaf({16, 32});
    train({q, k, v}, SGD, [=] {
        const Tensor keys = torch::linear(x, k).transpose(-2, -1);
        const Tensor scores = torch::matmul(torch::linear(x, q), keys) * 0.25;
        const Tensor weights = torch::softmax(scores.masked_fill(mask, -INFINITY), -1);
        return torch::matmul(weights, torch::linear(x, v)).pow(2).mean();
    });
    return nullptr;
}

enum { BACKWARD, FORWARD, NO_GRAD };

static void prepare_chain(bool leaves, int what)
{
    const Tensor x = torch::tensor(1.0f).set_requires_grad(true);
    const Tensor a = torch::tensor(0.999f).set_requires_grad(leaves);
    const Tensor b = torch::tensor(0.001f).set_requires_grad(leaves);
    const auto chain = [=] {
        Tensor y = x;
        for (int i = 0; i < 500; i++) {
            y = y * a;
            y = y + b;
        }
        return y;
    };
    step = [=] {
        if (what == NO_GRAD) {
            torch::NoGradGuard guard;
            chain();
        } else if (what == FORWARD) {
            chain();
        } else {
            x.mutable_grad().reset();
            chain().backward();
        }
    };
}

static const char *prepare_constants(const workload *w)
{
    prepare_chain(false, w->variant);
    return nullptr;
}

static const char *prepare_leaves(const workload *w)
{
    prepare_chain(true, w->variant);
    return nullptr;
}

static void run()
{
    step();
}

static void finish()
{
    step = nullptr;
    optimizer.reset();
}

static workload make(const char *name, const char *(*prepare)(const workload *), int variant)
{
    workload w = {};
    std::snprintf(w.name, sizeof w.name, "%s", name);
    w.unit = "us";
    w.scale = 1e6;
    w.variant = variant;
    w.prepare = prepare;
    w.run = run;
    w.finish = finish;
    return w;
}

int main(int argc, char **argv)
{
    torch::manual_seed(0);
    const std::vector<workload> all = {
        make("w1.adam", prepare_toy, ADAM),
        make("w1.forward", prepare_toy, LOSS),
        make("w1.sgd", prepare_toy, SGD),
        make("w2.sgd", prepare_head, SGD),
        make("w7.constants", prepare_constants, BACKWARD),
        make("w7.constants.forward", prepare_constants, FORWARD),
        make("w7.constants.no_grad", prepare_constants, NO_GRAD),
        make("w7.leaves", prepare_leaves, BACKWARD),
        make("w7.leaves.forward", prepare_leaves, FORWARD),
        make("w7.leaves.no_grad", prepare_leaves, NO_GRAD),
    };
    const workloads table = {all.data(), static_cast<int>(all.size()), nullptr, nullptr};
    return serve(&table, argc, argv);
}
