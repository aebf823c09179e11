// Between the driver's structures of node parameters and operations.
#pragma once

#include "abi/cuda_types.h"

#include "cuda/context/context.h"
#include "cuda/graph/graph.h"

namespace divvy::simgpu {

// Everything about a node but its edges.
struct NodeSpec {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Operation operation;
  CUcontext context = nullptr;
  std::shared_ptr<CUDA_MEMCPY3D> copy;
};

// Checked as the driver checks them; nullptr structures are CUDA_ERROR_INVALID_VALUE. Where no
// context is named the function's, or else the calling thread's, is meant.
CUresult specOf(const CUDA_KERNEL_NODE_PARAMS_v1* params, NodeSpec* out);
CUresult specOf(const CUDA_KERNEL_NODE_PARAMS* params, NodeSpec* out);
CUresult specOf(const CUDA_MEMCPY3D* params, CUcontext context, NodeSpec* out);
CUresult specOf(const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context, NodeSpec* out);
CUresult specOf(const CUDA_HOST_NODE_PARAMS* params, NodeSpec* out);
CUresult specOf(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params, NodeSpec* out);
CUresult specOfChild(CUgraph child, NodeSpec* out);
CUresult specOfEvent(CUevent event, bool record, NodeSpec* out);
// Reserves the address and writes it into the parameters.
CUresult specOf(CUDA_MEM_ALLOC_NODE_PARAMS* params, NodeSpec* out);
CUresult specOfFree(CUdeviceptr address, NodeSpec* out);
// Any of them. CUDA_ERROR_NOT_SUPPORTED for kinds of nodes that are not simulated.
CUresult specOf(CUgraphNodeParams* params, NodeSpec* out);

// The reverse. CUDA_ERROR_INVALID_VALUE when the node is of another kind. Pointers in the result
// stay valid until the node changes.
CUresult paramsOf(GraphNode& node, CUDA_KERNEL_NODE_PARAMS* out);
CUresult paramsOf(GraphNode& node, CUDA_MEMCPY3D* out);
CUresult paramsOf(GraphNode& node, CUDA_MEMSET_NODE_PARAMS* out);
CUresult paramsOf(GraphNode& node, CUDA_HOST_NODE_PARAMS* out);
CUresult paramsOf(GraphNode& node, CUDA_BATCH_MEM_OP_NODE_PARAMS* out);
CUresult paramsOf(GraphNode& node, CUDA_MEM_ALLOC_NODE_PARAMS* out);
CUresult paramsOf(GraphNode& node, CUgraphNodeParams* out);

// Puts the parameters into a node of the same kind.
CUresult assign(GraphNode& node, NodeSpec spec);

}  // namespace divvy::simgpu
