// Package wire reads and writes HTTP: bodies within limits, answers as JSON or text, and
// errors.
//
//	body.go      reads a body whole, within limits, before a handler looks at it
//	deadline.go  gives up on a client that does not read
//	answer.go    writes JSON, text and google.rpc.Status
//	file.go      sends files to browsers
//	errors.go    maps each kind of error to its codes, of gRPC and of HTTP, in one table
//
// It knows no path, no caller and no message of the API. A test keeps the table complete.
//
// Start reading at StatusOf in errors.go.
package wire
