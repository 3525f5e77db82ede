// Elements of an array by their position in C order, whatever its layout.
#include "compiler/base/error.h"
#include "runtime/kernel/index_launch.h"

namespace quern {
namespace {

// The index as one of the only axis of all elements.
IndexPlan flat_plan(const Array& array, const Array& indices) {
    check_index(Dims{array.size()}, std::array<AdvancedItem, 1>{ArrayIndex{indices}});
    return {Array(array.buffer(), array.address(), array.dtype(), indices.shape(),
                  Dims(static_cast<std::size_t>(indices.ndim())), array.writable()),
            {{indices, 0, array.size(), 0}},
            0,
            indices.ndim()};
}

IndexForm flat_form(IndexAct act, const Array& indices, const IndexCall& call) {
    IndexForm form;
    form.act = act;
    form.mode = call.mode;
    form.flat = true;
    form.indices = {indices.dtype()};
    return form;
}

} // namespace

Array take_flat(const Array& array, const Array& indices, const IndexCall& call, const Array* out) {
    if (const std::optional<Array> line = reshape_view(array, Dims{array.size()}))
        return get_indexed(*line, {ArrayIndex{indices}}, call, out);
    const IndexPlan plan = flat_plan(array, indices);
    Array result = out != nullptr ? *out
                                  : Array::empty(array.device(), array.dtype(), indices.shape(),
                                                 current_stream(array.device()));
    if (indices.size() == 0)
        return result;
    const CheckedLaunch checked(plan, array.device(), call);
    const Argument args[] = {
        Argument::of(array), Argument::of(indices), Argument::of(Scalar::of(array.size())),
        checked.word(),      checked.number(),      Argument::of(result)};
    index_kernel(flat_form(IndexAct::get, indices, call))(args, {}, call.on_wait);
    checked.settle();
    return result;
}

void put_flat(const Array& array, const Array& indices, const Array& values,
              const IndexCall& call) {
    if (!array.writable())
        throw ValueError("assignment destination is read-only");
    const IndexPlan plan = flat_plan(array, apart_from(indices, array, indices.dtype()));
    if (indices.size() == 0 || values.size() == 0)
        return;
    if (array.size() == 0)
        throw Error(ErrorKind::index, "cannot replace elements of an empty array");
    const Array& index = plan.indexed[0].index;
    const Array from = apart_from(values, array, array.dtype());
    const CheckedLaunch checked(plan, array.device(), call);
    const Argument args[] = {Argument::of(index), Argument::of(Scalar::of(array.size())),
                             Argument::of(from),  Argument::of(Scalar::of(from.size())),
                             checked.word(),      checked.number(),
                             Argument::of(array)};
    index_kernel(flat_form(IndexAct::set, index, call))(args, {}, call.on_wait);
    checked.settle();
}

} // namespace quern
