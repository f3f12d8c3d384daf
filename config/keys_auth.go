// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// AuthConfig holds the keys of the access control of 5.x.
type AuthConfig struct {
	ConfigName  string `def:"null" v4:"!" later:"access control"`
	ClusterName string `def:"null" v4:"!" later:"access control"`
	// Always config below storePathRootDir, whatever the file says.
	AuthConfigPath string `def:"null" v4:"!" later:"access control" mark:"p"`
	// Access control of 5.x. true refuses the start until it is enforced.
	AuthenticationEnabled  bool   `def:"false" v4:"!"`
	AuthenticationProvider string `def:"null" v4:"!" none:"names a Java class" mark:"p"`
	// Any class name switches the user commands on.
	AuthenticationMetadataProvider string `def:"null" v4:"!" later:"access control" mark:"p"`
	AuthenticationStrategy         string `def:"null" v4:"!" none:"caching strategy of the Java server"`
	// Request codes, separated by commas, that need no credentials.
	AuthenticationWhitelist string `def:"null" v4:"!" later:"access control"`
	// JSON {"username":…,"password":…}: super user created at start if missing.
	InitAuthenticationUser string `def:"null" v4:"!" later:"access control" mark:"s"`
	// JSON {"accessKey":…,"secretKey":…} of the broker's own clients.
	InnerClientAuthenticationCredentials string `def:"null" v4:"!" later:"access control" mark:"s"`
	// Access control of 5.x. true refuses the start until it is enforced.
	AuthorizationEnabled  bool   `def:"false" v4:"!"`
	AuthorizationProvider string `def:"null" v4:"!" none:"names a Java class" mark:"p"`
	// Any class name switches the ACL commands on.
	AuthorizationMetadataProvider string `def:"null" v4:"!" later:"access control" mark:"p"`
	AuthorizationStrategy         string `def:"null" v4:"!" none:"caching strategy of the Java server"`
	// Request codes, separated by commas, that are not checked.
	AuthorizationWhitelist string `def:"null" v4:"!" later:"access control"`
	// Read the access rules of 4.x at start. true refuses the start.
	MigrateAuthFromV1Enabled                 bool `def:"false" v4:"!"`
	UserCacheMaxNum                          int  `def:"1000" v4:"!" none:"size and lifetime of a cache of the Java server"`
	UserCacheExpiredSecond                   int  `def:"600" v4:"!" none:"size and lifetime of a cache of the Java server"`
	UserCacheRefreshSecond                   int  `def:"60" v4:"!" none:"size and lifetime of a cache of the Java server"`
	AclCacheMaxNum                           int  `def:"1000" v4:"!" none:"size and lifetime of a cache of the Java server"`
	AclCacheExpiredSecond                    int  `def:"600" v4:"!" none:"size and lifetime of a cache of the Java server"`
	AclCacheRefreshSecond                    int  `def:"60" v4:"!" none:"size and lifetime of a cache of the Java server"`
	StatefulAuthenticationCacheMaxNum        int  `def:"10000" v4:"!" none:"size and lifetime of a cache of the Java server"`
	StatefulAuthenticationCacheExpiredSecond int  `def:"60" v4:"!" none:"size and lifetime of a cache of the Java server"`
	StatefulAuthorizationCacheMaxNum         int  `def:"10000" v4:"!" none:"size and lifetime of a cache of the Java server"`
	StatefulAuthorizationCacheExpiredSecond  int  `def:"60" v4:"!" none:"size and lifetime of a cache of the Java server"`
}
