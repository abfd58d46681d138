package node

import "time"

// PluginSocket names a socket in the node's plugin registry. A socket that is made again under
// the same name has another birth.
type PluginSocket struct{ Name, Birth string }

// PluginInfo holds what a plugin says of itself. Nothing of it is trusted.
type PluginInfo struct {
	Type     string // Kubernetes' word: CSIPlugin, DevicePlugin, DRAPlugin
	Name     string
	Endpoint string // the socket of its own service; empty: the one that it registers by
	Versions []string
	Driver   *CSIDriver // what its service says, if it is a CSI driver
}

// PluginAnswer tells a plugin that it is registered, or why it is not.
type PluginAnswer struct {
	Registered bool
	Reason     string
}

// Plugin holds what is known of the plugin behind a socket.
type Plugin struct {
	Socket    PluginSocket
	Found     time.Time     // when the socket was first seen
	Gone      bool          // the socket is there no longer
	Connected bool          // the plugin has said who it is, and its connection stands
	Said      time.Time     // when it last did
	Turn      int64         // the lower of two plugins with one name came first
	Info      PluginInfo    // as it last said
	Answer    *PluginAnswer // that it has heard; nil if it has heard none
	Fault     string        // why it can be neither asked nor answered now
}

// PluginWish says what is wanted of a plugin now.
type PluginWish struct {
	Socket PluginSocket
	Gone   bool         // it has to be forgotten
	Answer PluginAnswer // that it has to hear; the zero value is none
}

type (
	// AskPlugin connects to a plugin and has it say who it is.
	AskPlugin struct{ Socket PluginSocket }
	// AnswerPlugin tells a plugin whether it is registered.
	AnswerPlugin struct {
		Socket PluginSocket
		Answer PluginAnswer
	}
	// ForgetPlugin ends the connection to a plugin whose socket is gone, and what is known of it.
	ForgetPlugin struct{ Socket PluginSocket }
)

const targetPlugin = "plugin"

func (AskPlugin) Target() string    { return targetPlugin }
func (AnswerPlugin) Target() string { return targetPlugin }
func (ForgetPlugin) Target() string { return targetPlugin }

func (a AskPlugin) String() string    { return "ask plugin " + a.Socket.Name }
func (a ForgetPlugin) String() string { return "forget plugin " + a.Socket.Name }
func (a AnswerPlugin) String() string {
	if a.Answer.Registered {
		return "tell plugin " + a.Socket.Name + " that it is registered"
	}
	return "tell plugin " + a.Socket.Name + ": " + a.Answer.Reason
}

// About says that a plugin is asked or answered within seconds, or fails.
func (AskPlugin) About() About    { return About{Place: OnMachine, Nature: Quick} }
func (AnswerPlugin) About() About { return About{Place: OnMachine, Nature: Quick} }
func (ForgetPlugin) About() About { return About{Place: OnMachine, Nature: Quick} }
