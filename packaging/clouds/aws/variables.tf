variable "cluster_id" {
  type        = string
  description = "Name of the cluster; every machine has it as the tag determined_cluster"
}

variable "keypair" {
  type        = string
  description = "Name of the EC2 key pair with which admins log in on the machines"
}

variable "region" {
  type    = string
  default = "us-west-2"
}

variable "profile" {
  type    = string
  default = null
}

variable "master_instance_type" {
  type    = string
  default = "m6i.large"
}

variable "compute_agent_instance_type" {
  type    = string
  default = "g4dn.metal"
}

variable "aux_agent_instance_type" {
  type    = string
  default = "m6i.xlarge"
}

variable "spot" {
  type        = bool
  default     = false
  description = "Take spot instances as machines with GPUs"
}

variable "spot_max_price" {
  type    = string
  default = null
}

variable "inbound_cidr" {
  type        = string
  default     = "0.0.0.0/0"
  description = "Addresses that may reach the master and its SSH port"
}

variable "add_tag" {
  type        = list(string)
  default     = []
  description = "Further tags, each KEY=VALUE"
}
