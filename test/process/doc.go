// Package process runs a program as a child process, for tests and for example nodes. The program
// may end, be killed and be started again; its log holds the output of all starts.
package process
