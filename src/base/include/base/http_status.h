// Status codes of HTTP, for replies of our server and of API servers. Source: RFC 9110, RFC 6585.
#pragma once

namespace divvy::http_status {

inline constexpr unsigned kOk = 200;
inline constexpr unsigned kNoContent = 204;
inline constexpr unsigned kNotModified = 304;
inline constexpr unsigned kBadRequest = 400;
inline constexpr unsigned kUnauthorized = 401;
inline constexpr unsigned kForbidden = 403;
inline constexpr unsigned kNotFound = 404;
inline constexpr unsigned kMethodNotAllowed = 405;
inline constexpr unsigned kNotAcceptable = 406;
inline constexpr unsigned kRequestTimeout = 408;
inline constexpr unsigned kConflict = 409;
inline constexpr unsigned kGone = 410;
inline constexpr unsigned kContentTooLarge = 413;
inline constexpr unsigned kUnsupportedMediaType = 415;
inline constexpr unsigned kUnprocessableContent = 422;
inline constexpr unsigned kTooManyRequests = 429;
inline constexpr unsigned kRequestHeaderFieldsTooLarge = 431;
inline constexpr unsigned kInternalServerError = 500;
inline constexpr unsigned kServiceUnavailable = 503;

}  // namespace divvy::http_status
