// cuGraph*: what a capture recorded, replayed.
#include "runtime/host/state.h"

#include <algorithm>

namespace quern::host {

CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph handle, unsigned long long) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        const Graph* graph = state().graphs.find(handle);
        if (graph == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        if (out == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
        *out = reinterpret_cast<CUgraphExec>(
            state().graph_execs.make(std::make_shared<const Graph>(*graph)));
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
    const bool known =
        state().graph_execs.find(handle) != nullptr && state().streams.find(stream) != nullptr;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
    return guarded([&] {
        QUERN_CHECK(check_context());
        const auto* exec = state().graph_execs.find(handle);
        Stream* stream = state().streams.find(stream_handle);
        if (exec == nullptr || stream == nullptr)
            return CUDA_ERROR_INVALID_HANDLE;
        const auto replay = [](const Graph& graph) {
            for (const Node& node : graph.nodes)
                if (node.work)
                    node.work();
        };
        const Graph& graph = **exec;
        const auto keep = [&](bool) -> Work { return [kept = *exec, replay] { replay(*kept); }; };
        if (graph.has_host_function()) { // may wait for its caller
            if (const auto status = state().streams.check_capture(*stream); status != CUDA_SUCCESS)
                return status;
            if (stream->capture)
                return stream->capture->record(*stream, {CU_GRAPH_NODE_TYPE_HOST, keep(true)});
            return state().streams.enqueue(*stream, keep(false), nullptr);
        }
        return state().streams.submit(
            *stream, CU_GRAPH_NODE_TYPE_GRAPH, [&] { replay(graph); }, keep);
    });
}

CUresult cuGraphDestroy(CUgraph handle) {
    Graph* graph = state().graphs.find(handle);
    if (graph == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    state().graphs.destroy(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
    auto* exec = state().graph_execs.find(handle);
    if (exec == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    state().graph_execs.destroy(exec); // a replay still pending holds its own reference
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
    Graph* graph = state().graphs.find(handle);
    if (graph == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    if (count == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (nodes == nullptr)
        return *count = graph->nodes.size(), CUDA_SUCCESS;
    const std::size_t known = std::min(*count, graph->nodes.size());
    for (std::size_t i = 0; i < known; ++i)
        nodes[i] = reinterpret_cast<CUgraphNode>(&graph->nodes[i]);
    std::fill(nodes + known, nodes + *count, nullptr);
    *count = known;
    return CUDA_SUCCESS;
}

} // namespace quern::host
