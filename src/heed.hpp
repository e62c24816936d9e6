// Heed for C++17 and later: scopes, operators, exceptions, and owners that free what they own. Code
// that uses this header can also call all functions of the C API.
//
//     heed::scope scope;
//     heed::tensor x = heed::randn({2, 3}); // f32; heed::randn({2, 3}, HEED_F64)
//     heed::tensor y = heed::softmax(2 * x + 1, -1); // or heed_softmax(...)
//     std::cout << y << '\n';
//
// Errors. heed::foo is heed_foo, but it throws heed::error where heed_foo leaves an error pending.
// Converting a C function's result to heed::tensor throws too; heed::check does so for results of
// other types.
//
// Ownership, as in C: a tensor belongs to the scope that was innermost when it was made.
//
//   heed::tensor   a pointer to a tensor, with operators. It owns nothing and is copied freely, so
//                  the temporaries of an expression keep no values alive that C would free.
//   heed::kept     a retained tensor, which outlives its scope: for members, caches and globals. A
//                  kept result of an operation keeps its whole graph, so keep heed::detach(y).
//   heed::owner    a module, optimiser or other object with a heed_..._free.
//
// Destructors never throw. If ending a scope or freeing a module fails, the error stays pending,
// and the next checked call throws it. An exception may pass through any number of scopes, but not
// through C functions, so functions that C calls go through heed::callback.
#ifndef HEED_HPP
#define HEED_HPP

#if __cplusplus < 201703L
#error "heed.hpp needs C++17: compile with -std=c++17 or later"
#endif

#include "heed.h"

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace heed
{

// ---- errors ----

class error : public std::runtime_error
{
  public:
    error(heed_status status, const std::string &message)
        : std::runtime_error(message), status_(status)
    {
    }
    heed_status status() const noexcept
    {
        return status_;
    }

  private:
    heed_status status_;
};

// Throws the pending error, if there is one, and clears it.
inline void check()
{
    if (heed_error_pending() != HEED_OK) {
        const error pending(heed_error_pending(), heed_error_message());
        heed_error();
        throw pending;
    }
}

// In a catch block: makes the exception a pending error, unless one is pending already.
inline void fail_with_exception() noexcept
{
    try {
        throw;
    } catch (const error &e) {
        heed_fail(e.status(), "%s", e.what());
    } catch (const std::bad_alloc &) {
        heed_fail(HEED_ERR_MEMORY, "out of memory: a C++ function threw std::bad_alloc");
    } catch (const std::exception &e) {
        heed_fail(HEED_ERR_VALUE, "a C++ function threw an exception: %s", e.what());
    } catch (...) {
        heed_fail(HEED_ERR_VALUE, "a C++ function threw an exception that is not a std::exception");
    }
}

// ---- tensors ----

// What tensor and kept have in common. Functions take arguments of either type as const handle &.
class handle
{
  public:
    // Throws the pending error if `pointer` is the NULL of a failed function. Without an error,
    // NULL means "none", for optional arguments and gradients.
    handle(heed_tensor *pointer) : pointer_(pointer)
    {
        if (pointer == nullptr) {
            check();
        }
    }
    operator heed_tensor *() const noexcept
    {
        return pointer_;
    }
    heed_tensor *operator->() const noexcept // x->grad, x->ndim, x->shape[0], ...
    {
        return pointer_;
    }
    class tensor operator[](int64_t i) const; // a view, as in torch

    // A comparison gives a tensor, so `if (x < y)` would test a pointer. To test for NULL, compare
    // with nullptr.
    operator bool() const = delete;

  protected:
    handle() = default;
    handle(const handle &) = default;
    handle &operator=(const handle &) = default;

    heed_tensor *pointer_ = nullptr;
};

class tensor : public handle
{
  public:
    using handle::handle;
    tensor() = default;
    tensor(const handle &other) noexcept : handle(other)
    {
    }
};

// Its counts are atomic only after heed_share. Before that, a kept and its copies belong to one
// thread.
class kept : public handle
{
  public:
    kept() = default;
    kept(heed_tensor *t) : handle(t != nullptr ? heed_retain(t) : nullptr)
    {
    }
    kept(const handle &other) : kept(other.operator heed_tensor *())
    {
    }
    kept(const kept &other) : kept(other.pointer_)
    {
    }
    kept(kept &&other) noexcept : handle(other)
    {
        other.pointer_ = nullptr;
    }
    kept &operator=(kept other) noexcept
    {
        std::swap(pointer_, other.pointer_);
        return *this;
    }
    ~kept()
    {
        heed_release(pointer_);
    }
};

inline tensor check(heed_tensor *result)
{
    return result;
}

// For heed_status, numbers and other results: throws the pending error, or returns the result.
template <class T> T check(T result)
{
    check();
    return result;
}

// ---- scopes ----

// Owns the tensors made until its block ends; scope(heed::no_grad) also records no graph until
// then, like torch.no_grad(). A heed_scope contains its own address, so it cannot be copied or
// moved.
enum no_grad_tag { no_grad };

class scope
{
  public:
    scope() noexcept
    {
        heed_scope_begin(&scope_);
    }
    explicit scope(no_grad_tag) noexcept
    {
        heed_scope_begin_no_grad(&scope_);
    }
    ~scope()
    {
        heed_scope_close(&scope_);
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    static void *operator new(std::size_t) = delete;

    // Moves a tensor to the enclosing scope: return scope.keep(y);
    tensor keep(const handle &t)
    {
        return heed_scope_keep(&scope_, t);
    }

  private:
    heed_scope scope_;
};

// ---- functions: heed::foo is heed_foo with these types, and checked ----

// A shape or an index: {2, 3}; {} for a tensor without dims.
struct shape : heed_shape {
    template <class... Sizes, class = std::enable_if_t<(std::is_integral_v<Sizes> && ...)>>
    shape(Sizes... sizes) : heed_shape(heed_shape_of(sizes...))
    {
    }
    shape(const heed_shape &other) : heed_shape(other)
    {
    }
};

struct dims : heed_dims {
    template <class... Dims, class = std::enable_if_t<(std::is_integral_v<Dims> && ...)>>
    dims(Dims... list) : heed_dims(heed_dims_of(list...))
    {
    }
};

namespace detail
{
// Whether a double surely holds n: no integer beyond 2^53.
template <class T> constexpr bool is_exact(T n)
{
    if constexpr (std::is_integral_v<T> && sizeof(T) >= sizeof(int64_t)) {
        constexpr int64_t most = int64_t{1} << 53;
        return n <= static_cast<T>(most) && (std::is_unsigned_v<T> || n >= static_cast<T>(-most));
    }
    return true;
}

// An argument of C's type double. Throws for an integer beyond 2^53, which would be rounded.
class number
{
  public:
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    number(T n) : value_(static_cast<double>(n))
    {
        if (!is_exact(n)) {
            heed_fail(HEED_ERR_VALUE,
                      "%s may not be exact as a double; make a tensor of it with heed::from",
                      std::to_string(n).c_str());
            check();
        }
    }
    operator double() const noexcept
    {
        return value_;
    }

  private:
    double value_;
};

template <class C, class From, class To, class Else>
using replace = std::conditional_t<std::is_same_v<C, From>, To, Else>;

// The type of the C++ argument for a C argument of type C.
template <class C>
using in = replace<C, heed_tensor *, const handle &,
                   replace<C, const heed_tensor *, const handle &,
                           replace<C, heed_shape, shape,
                                   replace<C, heed_dims, dims, replace<C, double, number, C>>>>>;
} // namespace detail

// For functions that are not listed below: constexpr heed::function<heed_gpt_loss> gpt_loss{};
template <auto f> struct function;
template <class R, class... A, R (*f)(A...)> struct function<f> {
    auto operator()(detail::in<A>... arguments) const
    {
        return check(f(arguments...));
    }
};

// Functions that make and read tensors, and gradients; grad and those of f32 by default are below.
// clang-format off
#define HEED_FUNCTIONS(X)                                                                          \
    X(full) X(scalar) X(arange) X(empty_like) X(zeros_like) X(ones_like) X(full_like)              \
    X(set_data) X(copy_into) X(fill_into)                                                          \
    X(rand_like) X(randn_like) X(randint) X(randperm) X(bernoulli) X(multinomial)                  \
    X(uniform_into) X(normal_into) X(bernoulli_into) X(exponential_into)                           \
    X(size) X(shape_of_tensor) X(same_shape) X(is_contiguous) X(is_expanded) X(item) X(item_i64)   \
    X(at) X(data_f32) X(data_f64) X(data_i64) X(data_bool) X(const_data_f32) X(const_data_f64)     \
    X(const_data_i64) X(const_data_bool) X(print) X(share)                                         \
    X(set_requires_grad) X(retain_grad) X(backward) X(backward_retain) X(clear_grad) X(set_grad)   \
    X(causal_block_mask) X(causal_keep_mask) X(causal_bias_mask) X(padding_block_mask)             \
    X(block_mask_of_keep) X(keep_mask_of_block) X(bias_mask_of_block) X(bias_mask_of_keep)

// The operations; cat, stack and those with an operator are below. `make names` writes this list.
#define HEED_OPERATIONS(X)                                                                         \
    X(neg) X(exp) X(expm1) X(log) X(log1p) X(sqrt) X(rsqrt) X(square) X(reciprocal) X(sin) X(cos)  \
    X(tanh) X(erf) X(abs) X(sign) X(floor) X(ceil) X(trunc) X(round) X(clamp) X(relu) X(sigmoid)   \
    X(silu) X(softplus) X(logsigmoid) X(softsign) X(gelu) X(gelu_tanh) X(pow) X(remainder)         \
    X(maximum) X(minimum) X(logaddexp) X(pow_scalar) X(remainder_scalar) X(maximum_scalar)         \
    X(minimum_scalar) X(logaddexp_scalar) X(lerp) X(lerp_scalar) X(allclose) X(equal)              \
    X(logical_and) X(logical_or) X(logical_xor) X(logical_not) X(isnan) X(isinf) X(isfinite)       \
    X(where) X(where_scalar) X(where_scalars)                                                      \
    X(transpose) X(permute) X(reshape) X(flatten) X(unflatten) X(expand) X(broadcast_to)           \
    X(squeeze) X(unsqueeze) X(detach) X(clone) X(contiguous) X(to)                                 \
    X(slice) X(select) X(narrow) X(split) X(split_sizes) X(chunk) X(unbind) X(diagonal) X(index)   \
    X(flip) X(roll) X(roll_dim) X(roll_dims) X(repeat) X(repeat_interleave)                        \
    X(repeat_interleave_dim) X(repeat_interleave_each)                                             \
    X(sum) X(sum_dim) X(sum_dims) X(mean) X(mean_dim) X(mean_dims) X(prod) X(prod_dim)             \
    X(prod_dims) X(cumsum) X(cumprod) X(amax) X(amax_dim) X(amax_dims) X(amin) X(amin_dim)         \
    X(amin_dims) X(max) X(min) X(argmax) X(argmax_dim) X(argmin) X(argmin_dim) X(var) X(var_dim)   \
    X(var_dims) X(std) X(std_dim) X(std_dims) X(norm) X(norm_dim) X(norm_dims) X(any) X(any_dim)   \
    X(any_dims) X(all) X(all_dim) X(all_dims) X(logsumexp) X(logsumexp_dim) X(logsumexp_dims)      \
    X(sum_to_size)                                                                                 \
    X(matmul) X(linear)                                                                            \
    X(einsum) X(bmm) X(outer) X(addmm)                                                             \
    X(softmax) X(safe_softmax) X(log_softmax)                                                      \
    X(layer_norm) X(rms_norm)                                                                      \
    X(rope)                                                                                        \
    X(scaled_dot_product_attention) X(scaled_dot_product_attention_weights)                        \
    X(mse_loss) X(mse_loss_with) X(l1_loss) X(l1_loss_with)                                        \
    X(huber_loss) X(huber_loss_with)                                                               \
    X(binary_cross_entropy) X(binary_cross_entropy_with) X(binary_cross_entropy_with_logits)       \
    X(binary_cross_entropy_with_logits_with) X(kl_div) X(kl_div_with)                              \
    X(cross_entropy) X(cross_entropy_with) X(nll_loss) X(nll_loss_with)                            \
    X(index_select) X(index_add) X(masked_select) X(nonzero) X(one_hot) X(gather) X(scatter_add)   \
    X(scatter) X(scatter_scalar)                                                                   \
    X(embedding)                                                                                   \
    X(masked_fill) X(tril) X(triu) X(dropout)                                                      \
    X(argsort) X(sort) X(topk) X(max_dim) X(min_dim) X(median) X(median_dim)
// clang-format on
#define HEED_FUNCTION(name) inline constexpr function<heed_##name> name{};
HEED_FUNCTIONS(HEED_FUNCTION)
HEED_OPERATIONS(HEED_FUNCTION)
#undef HEED_FUNCTION
#undef HEED_FUNCTIONS
#undef HEED_OPERATIONS

// Without a dtype: f32, as in torch.
#define HEED_FUNCTION(name)                                                                        \
    inline tensor name(const shape &sizes, heed_dtype dtype = HEED_F32)                            \
    {                                                                                              \
        return heed_##name(sizes, dtype);                                                          \
    }
HEED_FUNCTION(empty)
HEED_FUNCTION(zeros)
HEED_FUNCTION(ones)
HEED_FUNCTION(rand)
HEED_FUNCTION(randn)
#undef HEED_FUNCTION

inline tensor eye(int64_t n, int64_t m, heed_dtype dtype = HEED_F32)
{
    return heed_eye(n, m, dtype);
}

inline tensor linspace(detail::number start, detail::number end, int64_t steps,
                       heed_dtype dtype = HEED_F32)
{
    return heed_linspace(start, end, steps, dtype);
}

inline tensor handle::operator[](int64_t i) const
{
    return heed_select(pointer_, 0, i);
}

namespace detail
{
inline std::vector<heed_tensor *> pointers(const std::vector<tensor> &tensors)
{
    return {tensors.begin(), tensors.end()};
}
} // namespace detail

inline tensor cat(const std::vector<tensor> &tensors, int dim)
{
    return heed_cat(detail::pointers(tensors).data(), static_cast<int>(tensors.size()), dim);
}

inline tensor stack(const std::vector<tensor> &tensors, int dim)
{
    return heed_stack(detail::pointers(tensors).data(), static_cast<int>(tensors.size()), dim);
}

// dy/dx for each x, like torch.autograd.grad.
inline std::vector<tensor> grad(const handle &y, const std::vector<tensor> &xs,
                                bool create_graph = false)
{
    std::vector<heed_tensor *> grads(xs.size());
    check(heed_grad(y, detail::pointers(xs).data(), static_cast<int>(xs.size()), grads.data(),
                    create_graph));
    return {grads.begin(), grads.end()};
}

// ---- operators, elementwise as in torch ----

namespace detail
{
template <class T> constexpr bool is_handle = std::is_base_of_v<handle, T>;

// At least one operand is a tensor or kept; the other may be a heed_tensor * or a number.
template <class A, class B>
using operands = std::enable_if_t<(
    is_handle<A> || std::is_same_v<A, heed_tensor *> ||
    std::is_arithmetic_v<A>)&&(is_handle<B> || std::is_same_v<B, heed_tensor *> ||
                               std::is_arithmetic_v<B>)&&(is_handle<A> || is_handle<B>)>;

// An operand as a tensor: an integer becomes an i64 tensor without dims.
template <class T> tensor as_tensor(const T &operand)
{
    if constexpr (std::is_arithmetic_v<T>) {
        if (std::is_unsigned_v<T> && operand > static_cast<T>(INT64_MAX)) {
            return heed_scalar(static_cast<double>(operand), HEED_I64); // fails: i64 cannot hold it
        }
        const int64_t value = static_cast<int64_t>(operand);
        return heed_from_values(&value, sizeof value, HEED_SCALAR, HEED_I64);
    } else {
        return operand;
    }
}

// x as it meets a number of type N in arithmetic: an i64 or bool becomes f32 if N is a float.
template <class N> tensor meets(heed_tensor *x)
{
    const bool is_cast = std::is_floating_point_v<N> && x != nullptr && !heed_is_float(x->dtype);
    return is_cast ? heed_to(x, HEED_F32) : x;
}

template <class N> tensor compares(heed_tensor *x)
{
    return x;
}
} // namespace detail

// tensor_of: the tensor that meets a number. number_first: the result for a number n on the left of
// a tensor x.
#define HEED_OPERATOR(sign, name, tensor_of, number_first)                                         \
    template <class A, class B, class = detail::operands<A, B>>                                    \
    tensor operator sign(const A &a, const B &b)                                                   \
    {                                                                                              \
        if constexpr (std::is_arithmetic_v<A>) {                                                   \
            if (detail::is_exact(a)) {                                                             \
                const double n = static_cast<double>(a);                                           \
                heed_tensor *x = detail::tensor_of<A>(b);                                          \
                return number_first;                                                               \
            }                                                                                      \
        } else if constexpr (std::is_arithmetic_v<B>) {                                            \
            if (detail::is_exact(b)) {                                                             \
                return heed_##name##_scalar(detail::tensor_of<B>(a), static_cast<double>(b));      \
            }                                                                                      \
        }                                                                                          \
        return heed_##name(detail::as_tensor(a), detail::as_tensor(b));                            \
    }
HEED_OPERATOR(+, add, meets, heed_add_scalar(x, n))
HEED_OPERATOR(-, sub, meets, heed_add_scalar(heed_neg(x), n))
HEED_OPERATOR(*, mul, meets, heed_mul_scalar(x, n))
HEED_OPERATOR(/, div, meets, heed_mul_scalar(heed_reciprocal(x), n))
HEED_OPERATOR(==, eq, compares, heed_eq_scalar(x, n))
HEED_OPERATOR(!=, ne, compares, heed_ne_scalar(x, n))
HEED_OPERATOR(<, lt, compares, heed_gt_scalar(x, n))
HEED_OPERATOR(<=, le, compares, heed_ge_scalar(x, n))
HEED_OPERATOR(>, gt, compares, heed_lt_scalar(x, n))
HEED_OPERATOR(>=, ge, compares, heed_le_scalar(x, n))
#undef HEED_OPERATOR

inline tensor operator-(const handle &x)
{
    return heed_neg(x);
}

inline std::ostream &operator<<(std::ostream &stream, const handle &x)
{
    std::string text(check(heed_snprint(nullptr, 0, x)), '\0');
    heed_snprint(text.data(), text.size() + 1, x);
    return stream << text;
}

// ---- values in and out ----

template <class T> constexpr heed_dtype dtype_of()
{
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> ||
                      std::is_same_v<T, int64_t> || std::is_same_v<T, bool>,
                  "the elements of a tensor are float, double, int64_t or bool");
    return std::is_same_v<T, float>     ? HEED_F32
           : std::is_same_v<T, double>  ? HEED_F64
           : std::is_same_v<T, int64_t> ? HEED_I64
                                        : HEED_BOOL;
}

// A tensor with these elements: from(vector, {2, 2}), from<float>({1, 2}, {2}).
template <class T> tensor from(const T *values, std::size_t count, const shape &sizes)
{
    return heed_from_values(values, count * sizeof(T), sizes, dtype_of<T>());
}
template <class T> tensor from(std::initializer_list<T> values, const shape &sizes)
{
    return from(values.begin(), values.size(), sizes);
}
template <class C>
auto from(const C &values, const shape &sizes)
    -> decltype(from(std::data(values), std::size(values), sizes))
{
    return from(std::data(values), std::size(values), sizes);
}

// The elements of x, whose dtype must be T's.
template <class T> std::vector<T> values(const handle &x)
{
    check(heed_check_tensor("values", "x", x));
    if (x->dtype != dtype_of<T>()) {
        heed_fail(HEED_ERR_DTYPE, "values: x is %s, not %s; heed_to casts it",
                  heed_dtype_name(x->dtype), heed_dtype_name(dtype_of<T>()));
        check();
    }
    // Not copied into the vector directly, because std::vector<bool> has no array of bool.
    const auto elements = std::make_unique<T[]>(static_cast<std::size_t>(x->numel));
    check(heed_copy_out(x, elements.get(), x->numel));
    return std::vector<T>(elements.get(), elements.get() + x->numel);
}

// ---- functions that C calls ----

// Wraps a C++ function that may throw: exceptions become pending errors. It converts to any C
// function pointer whose arguments the function accepts; a void * can be a pointer of any type. If
// C expects a status, the function may return void.
//
//     void rule(const heed_call *call, heed_result *result);
//     op.rule = heed::callback<rule>();
template <auto f> class callback
{
    template <class R, class... A> using pointer = R (*)(A...);

    struct any {
        void *address;
        template <class T> operator T *() const noexcept
        {
            return static_cast<T *>(address);
        }
    };
    template <class T> static auto pass(T argument) noexcept
    {
        if constexpr (std::is_same_v<T, void *>) {
            return any{argument};
        } else {
            return argument;
        }
    }

    template <class R, class... A> static R call(A... arguments) noexcept
    {
        try {
            if constexpr (std::is_void_v<decltype(f(pass(arguments)...))>) {
                f(pass(arguments)...);
            } else {
                return f(pass(arguments)...);
            }
        } catch (...) {
            fail_with_exception();
        }
        if constexpr (std::is_same_v<R, heed_status>) {
            return heed_error_pending();
        } else {
            return R();
        }
    }

  public:
    template <class R, class... A> constexpr operator pointer<R, A...>() const noexcept
    {
        return call<R, A...>;
    }
};

// ---- operations and modules of your own ----

// Applies an operation that takes no arguments besides tensors; see autograd/op.h.
template <class... Tensors> tensor apply(const heed_op &op, const Tensors &...inputs)
{
    heed_tensor *const list[] = {inputs...};
    return heed_apply(&op, list, sizeof...(inputs), nullptr, 0);
}

namespace detail
{
struct deleter {
    template <class T> void operator()(T *object) const noexcept
    {
        if constexpr (std::is_same_v<T, heed_optimizer>) {
            heed_optimizer_free(object);
        } else if constexpr (std::is_same_v<T, heed_batches>) {
            heed_batches_free(object);
        } else if constexpr (std::is_same_v<T, heed_gpt_cache>) {
            heed_gpt_cache_free(object);
        } else if constexpr (std::is_same_v<T, heed_recording>) {
            heed_recording_free(object);
        } else if constexpr (std::is_same_v<T, heed_safetensors>) {
            heed_safetensors_close(object);
        } else if constexpr (std::is_same_v<T, heed_watch>) {
            heed_watch_free(object);
        } else {
            static_assert(std::is_standard_layout_v<T> && sizeof(T) >= sizeof(heed_module),
                          "neither a module nor another object with a heed_..._free");
            heed_module_free(object);
        }
    }
};
} // namespace detail

// A unique_ptr that C functions accept. Give a child module to its parent with release().
template <class T> class owner : public std::unique_ptr<T, detail::deleter>
{
  public:
    using std::unique_ptr<T, detail::deleter>::unique_ptr;
    operator T *() const &noexcept
    {
        return this->get();
    }
    operator T *() const && = delete;
};

// auto adam = heed::own(heed_adam_new(heed_parameters(model), 1e-3));
template <class T> owner<T> own(T *object)
{
    owner<T> owned(object);
    check();
    return owned;
}

// The kind of a module, with its forward (see nn/module.h). Make it a global: modules point to it.
template <class M, auto forward> constexpr heed_module_kind kind(const char *name)
{
    static_assert(std::is_standard_layout_v<M> && offsetof(M, module) == 0,
                  "the first member of a module is `heed_module module`");
    static_assert(std::is_trivially_default_constructible_v<M> &&
                      std::is_trivially_destructible_v<M>,
                  "C allocates modules, filled with zeros, and runs no constructors of members");
    return {name, sizeof(M), nullptr, nullptr, callback<forward>()};
}

// Constructs a module: build(m) registers its members, and may throw.
template <class M, class Build> owner<M> make(const heed_module_kind &kind, Build build)
{
    owner<M> m = own(static_cast<M *>(heed_module_new(&kind)));
    build(m.get());
    check(heed_module_check("make", m));
    return m;
}
template <class M, class Build> owner<M> make(const heed_module_kind &&, Build) = delete;

} // namespace heed
#endif
