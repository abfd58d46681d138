package node

// Check looks at one thing that a machine needs to run pods.
type Check struct {
	Name     string
	Required bool         // no pod runs without it; else only the feature that Look's error names is missing
	Trial    bool         // Look takes time: it runs a program, or makes something and removes it again
	Remedy   string       // what the machine's owner can do about a failure
	Look     func() error // returns what is wrong
}
