package config

// Unsafe returns a sentence for each right that the settings give to every caller.
func Unsafe(c *Config) (open []string) {
	switch {
	case c.Auth.Anonymous && c.Auth.Mode == AuthAlwaysAllow:
		open = append(open, "every caller that reaches the port is admin, without a credential: "+
			"authentication.anonymous.enabled is true and authorization.mode is AlwaysAllow")
	case c.Auth.Mode == AuthAlwaysAllow:
		open = append(open, "every caller with a credential is admin: authorization.mode is AlwaysAllow")
	}
	return open
}
