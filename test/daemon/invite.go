package daemon

// Invite is a link that signs a browser in to the dashboard, once.
func (d *Daemon) Invite() string {
	d.t.Helper()
	link, err := d.agent.Invite(d.t.Context())
	must(d.t, err)
	return link
}
