// The one translation unit that has the bodies of Boost.Asio's functions.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
