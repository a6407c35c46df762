# Variables that the modules for AWS and for Google Cloud have in common.

variable "package_url" {
  type        = string
  description = "URL of an archive with the programs, made on the system of the machines (Ubuntu 22.04): make install DESTDIR=$PWD/root PREFIX=/usr && tar -C root -czf determined.tar.gz ."
}

variable "min_dynamic_agents" {
  type        = number
  default     = 0
  description = "Machines with GPUs that always run"
}

variable "max_dynamic_agents" {
  type        = number
  default     = 5
  description = "Most machines with GPUs"
}

variable "max_aux_agents" {
  type        = number
  default     = 5
  description = "Most machines for tasks without slots"
}

variable "max_aux_containers_per_agent" {
  type        = number
  default     = 16
  description = "Tasks without slots on one machine"
}

variable "max_idle_agent_period" {
  type        = string
  default     = "10m"
  description = "Time without tasks after which a machine is ended"
}

variable "max_agent_starting_period" {
  type        = string
  default     = "20m"
  description = "Time within which the agent of a new machine has to connect"
}

variable "scheduler_type" {
  type    = string
  default = "fair_share"
}

variable "initial_user_password" {
  type        = string
  sensitive   = true
  description = "First password of the users determined and admin"
}
