// Package notify tells the service manager how the agent does: systemd's
// protocol of datagrams to the socket that $NOTIFY_SOCKET names.
//
//	s, err := notify.FromEnvironment()
//	s.Ready()                  // the API answers: units that wait for us start
//	s.Watch(ctx, alive, log)   // the watchdog is content while alive succeeds in time
//	s.Stopping()               // this end is meant
//
// go-systemd's daemon package is no replacement: it reads the socket from the environment at
// each call, so a child of ours would inherit it.
//
// Without a service manager all of it does nothing. What is told is told on
// somebody's behalf: the package has no view of its own of what ready or alive
// means.
package notify
