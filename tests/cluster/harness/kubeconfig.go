package harness

import (
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig lets whoever has `path` be the client `name` of the authority.
func writeKubeconfig(path, server, name string, a *authority) error {
	file := func(name string) string {
		absolute, err := filepath.Abs(a.path(name))
		if err != nil {
			return a.path(name)
		}
		return absolute
	}
	config := api.NewConfig()
	cluster := api.NewCluster()
	cluster.Server = server
	cluster.CertificateAuthority = file("ca.crt")
	config.Clusters["divvy"] = cluster
	user := api.NewAuthInfo()
	user.ClientCertificate = file(name + ".crt")
	user.ClientKey = file(name + ".key")
	return writeFor(path, config, name, user)
}

// writeTokenKubeconfig lets whoever has `path` be whom the token is for.
func writeTokenKubeconfig(path, server, authority, token string) error {
	config := api.NewConfig()
	cluster := api.NewCluster()
	cluster.Server = server
	cluster.CertificateAuthority = authority
	config.Clusters["divvy"] = cluster
	user := api.NewAuthInfo()
	user.Token = token
	return writeFor(path, config, "account", user)
}

func writeFor(path string, config *api.Config, name string, user *api.AuthInfo) error {
	config.AuthInfos[name] = user
	context := api.NewContext()
	context.Cluster = "divvy"
	context.AuthInfo = name
	config.Contexts["divvy"] = context
	config.CurrentContext = "divvy"
	return clientcmd.WriteToFile(*config, path)
}
