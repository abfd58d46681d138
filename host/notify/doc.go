// Package notify reports the agent's state to the service manager, by systemd's
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
// Without a service manager all of it does nothing. The caller decides what ready and
// alive mean.
package notify
