package daemon

// Invite returns a link that signs one browser in to the dashboard.
func (d *Daemon) Invite() string {
	d.t.Helper()
	link, err := d.agent.Invite(d.t.Context())
	must(d.t, err)
	return link
}
