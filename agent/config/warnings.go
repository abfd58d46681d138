package config

// A Warning says what is wrong with settings with which the node starts all the same.
type Warning struct {
	Setting string // "oomScoreAdj", "--vmodule", "access" for those that let callers in together, or a file of the machine
	Problem string
	Remedy  string
}

// Warnings returns the settings that have no effect here, and the rights that they give to every caller.
func Warnings(c *Config) (all []Warning) {
	for _, u := range Unhonoured(c) {
		all = append(all, Warning{u.Setting, "has no effect: " + u.Means, "leave it out, or do not rely on it"})
	}
	all = append(all, contradictions(c.Reserved.Rules)...)
	for _, open := range Unsafe(c) {
		all = append(all, Warning{"access", open, "leave these settings out"})
	}
	return all
}
