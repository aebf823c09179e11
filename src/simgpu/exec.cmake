# Time and work: engines, streams, events, copies, kernels, graphs.
list(APPEND simgpu_libcuda_sources
  capture.cpp capture_api.cpp channel_group.cpp copy.cpp copy_api.cpp copy_array.cpp copy_box_api.cpp copy_call.cpp
  copy_plan.cpp copy_set_api.cpp engine.cpp engine_context.cpp engine_cost.cpp engine_executor.cpp
  engine_wait.cpp event.cpp event_api.cpp event_ipc.cpp graph.cpp graph_api.cpp graph_exec.cpp
  graph_exec_api.cpp graph_node_api.cpp graph_object_api.cpp graph_params.cpp graph_update.cpp kernel_builtin.cpp
  kernel_image.cpp kernel_ptx.cpp kernel_query_api.cpp kernel_text.cpp launch.cpp launch_api.cpp module.cpp
  module_api.cpp module_link_api.cpp stream.cpp stream_api.cpp stream_memop.cpp
  stream_memop_api.cpp stream_op.cpp touch_log.cpp)
