// Types of the OpenGL, EGL and VDPAU entry points: only what their calls pass, so that no graphics
// header is needed.
#pragma once

#include "abi/cuda_handles.h"

using GLuint = unsigned int;
using GLenum = unsigned int;
using EGLint = std::int32_t;
using EGLImageKHR = void*;
using EGLStreamKHR = void*;
using EGLSyncKHR = void*;
using VdpDevice = std::uint32_t;
using VdpVideoSurface = std::uint32_t;
using VdpOutputSurface = std::uint32_t;
using VdpStatus = int;
using VdpGetProcAddress = VdpStatus(VdpDevice device, std::uint32_t functionId, void** function);

enum CUGLDeviceList : unsigned {
  CU_GL_DEVICE_LIST_ALL = 1,
  CU_GL_DEVICE_LIST_CURRENT_FRAME = 2,
  CU_GL_DEVICE_LIST_NEXT_FRAME = 3,
};

// Removed from the headers with CUDA 12's profiler files, still exported.
enum CUoutput_mode : unsigned { CU_OUT_KEY_VALUE_PAIR = 0, CU_OUT_CSV = 1 };

enum CUeglFrameType : unsigned { CU_EGL_FRAME_TYPE_ARRAY = 0, CU_EGL_FRAME_TYPE_PITCH = 1 };
enum CUeglColorFormat : unsigned {};

using CUeglStreamConnection = struct CUeglStreamConnection_st*;

// Passed by value to cuEGLStreamProducerPresentFrame.
struct CUeglFrame {
  union {
    CUarray pArray[3];
    void* pPitch[3];
  } frame;
  unsigned int width;
  unsigned int height;
  unsigned int depth;
  unsigned int pitch;
  unsigned int planeCount;
  unsigned int numChannels;
  CUeglFrameType frameType;
  CUeglColorFormat eglColorFormat;
  CUarray_format cuFormat;
};
