// Package uevent receives the kernel's messages about devices that have come, gone or changed.
//
// Each message names a device and its subsystem, such as cpu or memory. It is only a wake-up: the caller looks at the
// machine itself. So a lost message costs time, and a forged one costs a look.
//
// Start reading at Watch.
package uevent
