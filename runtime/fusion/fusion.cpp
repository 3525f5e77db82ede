// Stretches over several shapes are open at a time: a call joins one, and those whose memory it
// touches besides run first.
#include "runtime/fusion/fusion.h"

#include "compiler/base/text.h"
#include "runtime/array/views.h"

#include <algorithm>
#include <exception>
#include <ranges>

namespace quern {
namespace {

constexpr std::size_t most_open = 8;

// Do the axes of a reduction join anything, and does nobody write what it reads?
bool can_be_recorded(const RecordedCall& call) {
    std::int64_t joined = 1;
    for (int d = 0; d < call.shape.ndim; ++d) {
        if (call.shape.extents[d] == 0)
            return false;
        if (is_reduced(call.reduced, d))
            joined *= call.shape.extents[d];
    }
    if (joined < 2 || call.shape.ndim > 60)
        return false;
    const auto& params = call.reduction->params;
    for (std::size_t out = 0; out < params.size(); ++out)
        for (std::size_t in = 0; params[out].output && in < params.size(); ++in)
            if (in != out && call.arrays[in] != nullptr &&
                may_share_memory(*call.arrays[in], *call.arrays[out]))
                return false;
    return true;
}

} // namespace

bool Fusion::take(const RecordedCall& call) {
    if (running_)
        return false;
    if (call.reduction != nullptr
            ? !can_be_step(*call.reduction, call.signature) || !can_be_recorded(call)
            : !can_be_step(*call.elementwise, call.signature)) {
        settle(nullptr);
        note_cut("runs by itself", &call);
        settle();
        return false;
    }
    const int at = line ? line() : 0;
    // Of those that it touches it joins the newest that it can; the others run before it is taken.
    std::vector<OpenStretch*> touched;
    for (const auto& stretch : std::views::reverse(open_))
        if (stretch->touches(call))
            touched.push_back(stretch.get());
    auto own = std::ranges::find_if(touched, [&](auto* s) { return s->why_not(call).empty(); });
    if (own == touched.end())
        own = touched.begin();
    const auto close = [&](OpenStretch& stretch) {
        const std::string_view why = stretch.why_not(call);
        const Dims shape = stretch.shape();
        run(stretch, nullptr);
        note_cut(why.empty() ? "is part of another kernel" : why, &call, shape);
    };
    for (auto other = touched.begin(); other != touched.end(); ++other)
        if (other != own)
            close(**other);
    bool joined = own != touched.end() && (*own)->join(call, at).empty();
    if (own != touched.end() && !joined)
        close(**own);
    for (const auto& stretch : std::views::reverse(open_))
        joined = joined || stretch->join(call, at).empty();
    if (joined)
        return true;
    std::optional<FusedCut> apart; // from what was called before
    if (notes_.watched && !open_.empty())
        apart = cut_of(open_.back()->why_not(call), &call, open_.back()->shape());
    if (open_.size() == most_open)
        run(*open_.front(), nullptr);
    open_.push_back(std::make_unique<OpenStretch>(notes_, name_, std::move(apart)));
    static_cast<void>(open_.back()->join(call, at));
    return true;
}

FusedCut Fusion::cut_of(std::string_view why, const RecordedCall* call, const Dims& after) const {
    FusedCut cut{line ? line() : 0, {}};
    if (call != nullptr) {
        std::string_view name = call->spec().name;
        if (constexpr std::string_view ours = "quern_"; name.starts_with(ours))
            name.remove_prefix(ours.size());
        cut.why = join(name, " ");
    }
    cut.why += why;
    if (why == other_shape)
        cut.why += join(": ", format_shape(shape_of(*call)), " after ", format_shape(after));
    return cut;
}

void Fusion::note_cut(std::string_view why, const RecordedCall* call, const Dims& after) {
    if (notes_.watched)
        notes_.add(cut_of(why, call, after));
}

void Fusion::settle() {
    if (running_)
        return;
    settle(nullptr);
    note_cut("something runs by itself");
    if (notes_.trace != nullptr)
        notes_.trace->refuse();
}

void Fusion::host_reads() {
    if (running_)
        return;
    if (notes_.watched)
        settle(nullptr);
    note_cut("reads values");
    if (notes_.trace != nullptr)
        notes_.trace->refuse();
    if (on_read)
        on_read();
}

// All of them run, whatever one of them throws.
void Fusion::settle(void (*on_wait)(bool entering)) {
    std::exception_ptr first;
    while (!running_ && !open_.empty()) {
        try {
            run(*open_.front(), on_wait);
        } catch (...) {
            if (!first)
                first = std::current_exception();
        }
    }
    if (first)
        std::rethrow_exception(first);
}

void Fusion::run(OpenStretch& stretch, void (*on_wait)(bool entering)) {
    const auto place = std::ranges::find(open_, &stretch, &std::unique_ptr<OpenStretch>::get);
    const std::unique_ptr<OpenStretch> open = std::move(*place);
    open_.erase(place);
    struct Scope {
        bool& running;
        explicit Scope(bool& of) : running(of) { running = true; }
        ~Scope() { running = false; }
    } const scope(running_);
    open->run(on_wait);
}

} // namespace quern
