// Package uevent hears from the kernel that a part of the machine has come, gone or changed.
//
// Each message names a device and its subsystem, such as cpu or memory. It is a wake-up and nothing more: whoever is
// woken looks at the machine itself. So a message that is lost costs time, and one that is forged costs a look.
//
// Start reading at Watch.
package uevent
